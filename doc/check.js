// What doc/check.py asks of an open page; DARK is replaced by true or false.
(() => {
  const problems = [], root = document.scrollingElement, width = window.innerWidth;
  const inBox = e => {
    for (let p = e.parentElement; p && p !== document.body; p = p.parentElement)
      if (getComputedStyle(p).overflowX !== 'visible') return true;
  };
  if (root.scrollWidth > width) {
    const wide = [...document.body.querySelectorAll('*')].filter(
      e => e.getBoundingClientRect().right > width + 1 && !inBox(e));
    const worst = wide[wide.length - 1];
    problems.push(`scrolls sideways: ${root.scrollWidth} pixels`
      + (worst ? `, "${worst.textContent.trim().slice(0, 60)}"` : ''));
  }
  for (const sheet of document.querySelectorAll('link[rel=stylesheet]'))
    if (!sheet.sheet) problems.push(`a style sheet is missing: ${sheet.href}`);
  const style = getComputedStyle(document.body);
  const level = colour => (colour.match(/[\d.]+/g) || [255, 255, 255]).slice(0, 3)
    .reduce((sum, part) => sum + Number(part), 0) / 765;
  const back = level(getComputedStyle(document.documentElement).backgroundColor);
  const ink = level(style.color);
  if (!document.styleSheets.length || /^"?Times/.test(style.fontFamily))
    problems.push('is without style');
  else if (DARK ? back > 0.4 || ink < 0.6 : ink > 0.5)
    problems.push(`is not ${DARK ? 'dark' : 'light'}: background ${back}, text ${ink}`);
  const bar = document.querySelector('.bd-header');
  if (bar && bar.getBoundingClientRect().height > 90)
    problems.push('the navigation bar takes two lines');
  for (const item of bar ? bar.querySelectorAll('a, button, input') : []) {
    const box = item.getBoundingClientRect();
    if (box.width && (box.left < -1 || box.right > width + 1))
      problems.push(`the navigation bar is cut at "${item.textContent.trim()}"`);
  }
  for (const image of document.images)
    if (image.complete && !image.naturalWidth) problems.push(`an image is not shown: ${image.src}`);
  for (const file of performance.getEntriesByType('resource'))
    if (!file.name.startsWith(location.origin) && !file.name.startsWith('data:'))
      problems.push(`needs the network: ${file.name}`);
  return {problems, height: root.scrollHeight};
})()
