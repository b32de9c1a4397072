# R's msm on panel.csv; prints panel.json. Debian: apt-get install r-cran-msm
# Run as: Rscript panel.R > panel.json
suppressMessages(library(msm))
data <- read.csv("panel.csv")
Q <- rbind(c(0, 0.2, 0, 0.05), c(0.1, 0, 0.2, 0.1), c(0, 0.1, 0, 0.3), c(0, 0, 0, 0))
control <- list(fnscale = 1000, reltol = 1e-12, maxit = 1000)
show <- function(x) paste(formatC(x, digits = 10, format = "g"), collapse = ", ")
matrix_of <- function(m) paste0("[", paste(apply(m, 1, function(r) paste0("[", show(r), "]")), collapse = ", "), "]")
clean <- function(m) { m <- unclass(m); attributes(m) <- list(dim = c(4, 4)); m }

# 1. states seen without error, exact deaths, alive at the end
fit <- msm(state ~ time, subject = subject, data = data, qmatrix = Q, deathexact = 4,
           censor = 99, censor.states = 1:3, control = control)
q <- qmatrix.msm(fit, ci = "delta")
sojourn <- sojourn.msm(fit)
# 2. the same data, as if deaths were found at visits
visits <- msm(state ~ time, subject = subject, data = data, qmatrix = Q,
              censor = 99, censor.states = 1:3, control = control)
# 3. states seen with error: the likelihood of known rates and errors
E <- rbind(c(0, 0.07, 0, 0), c(0.1, 0, 0.1, 0), c(0, 0.12, 0, 0), c(0, 0, 0, 0))
hidden <- msm(seen ~ time, subject = subject, data = data, qmatrix = Q, deathexact = 4,
              ematrix = E, censor = 99, censor.states = 1:3, fixedpars = TRUE)
# 4. without those lost at the end: observed and expected prevalence, in percent
seen <- data[data$state != 99, ]
again <- msm(state ~ time, subject = subject, data = seen, qmatrix = Q, deathexact = 4, control = control)
prevalence <- prevalence.msm(again, times = c(0, 1, 2.5, 5, 8), interp = "midpoint")

cat("{\n")
cat(sprintf('"version": "%s",\n', packageVersion("msm")))
cat(sprintf('"minus_2_log_likelihood": %s,\n', show(fit$minus2loglik)))
cat(sprintf('"rates": %s,\n', matrix_of(clean(q$estimates))))
cat(sprintf('"lower": %s,\n', matrix_of(clean(q$L))))
cat(sprintf('"upper": %s,\n', matrix_of(clean(q$U))))
cat(sprintf('"sojourn": [%s],\n', show(sojourn$estimates)))
cat(sprintf('"time_to_death": [%s],\n', show(efpt.msm(fit, tostate = 4)[1:3])))
cat(sprintf('"time_to_severe_or_death": [%s],\n', show(efpt.msm(qmatrix = {
  m <- clean(q$estimates); m[3, ] <- 0; m[, 3] <- m[, 3] + m[, 4]; m[, 4] <- 0; m[4, ] <- 0
  diag(m) <- 0; diag(m) <- -rowSums(m); m }, tostate = 3)[1:2])))
cat(sprintf('"survival_from_1": [%s],\n', show(sapply(c(1, 5, 12), function(t) 1 - pmatrix.msm(fit, t = t)[1, 4]))))
cat(sprintf('"visits": {"minus_2_log_likelihood": %s, "rates": %s},\n', show(visits$minus2loglik),
            matrix_of(clean(qmatrix.msm(visits, ci = "none")))))
cat(sprintf('"hidden": {"minus_2_log_likelihood": %s, "rates": %s, "errors": %s},\n',
            show(hidden$minus2loglik), matrix_of(Q), matrix_of(E)))
cat(sprintf('"prevalence": {"rates": %s, "observed": %s, "expected": %s}\n',
            matrix_of(clean(qmatrix.msm(again, ci = "none"))),
            matrix_of(as.matrix(prevalence[["Observed percentages"]])),
            matrix_of(as.matrix(prevalence[["Expected percentages"]]))))
cat("}\n")
