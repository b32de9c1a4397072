"""Links from the HTML repr of an estimator to its page in the documentation."""

import sys

# Where the documentation is published, without a slash at the end. While it is empty, as before
# the first release, there are no links.
ADDRESS = ""


class DocumentedMixin:
    """For scikit-learn's HTML repr, which asks for the attributes below."""

    @property
    def _doc_link_module(self):
        return "skchmm" if ADDRESS else "sklearn"

    @property
    def _doc_link_template(self):
        return ADDRESS + "/api/generated/{estimator_module}.{estimator_name}.html"

    def _doc_link_url_param_generator(self):
        """The name under which doc/api.rst lists the class: where it is exported first."""
        name, parts = type(self).__name__, type(self).__module__.split(".")
        modules = [".".join(parts[:k]) for k in range(1, len(parts) + 1)]
        public = next(module for module in modules if hasattr(sys.modules[module], name))
        return {"estimator_module": public, "estimator_name": name}
