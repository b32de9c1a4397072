# R's msm on illness_death.csv; prints msm.json. Debian: apt-get install r-cran-msm
# Run as: Rscript fit.R > msm.json
suppressMessages(library(msm))
data <- read.csv("illness_death.csv")
Q <- rbind(c(0, 0.25, 0.1), c(0.15, 0, 0.3), c(0, 0, 0))
fit <- msm(marker ~ time, subject = subject, data = data, qmatrix = Q,
           hmodel = list(hmmNorm(0, 1), hmmNorm(2, 0.8), hmmNorm(5, 0.5)),
           control = list(fnscale = 1000, reltol = 1e-14, maxit = 10000))
show <- function(x) paste(formatC(x, digits = 10, format = "g"), collapse = ", ")
q <- qmatrix.msm(fit, ci = "delta")
pairs <- rbind(c(1, 2), c(1, 3), c(2, 1), c(2, 3))
pick <- function(m) sapply(1:4, function(k) m[pairs[k, 1], pairs[k, 2]])
h <- fit$hmodel
cat("{\n")
cat(sprintf('"version": "%s",\n', packageVersion("msm")))
cat(sprintf('"minus_2_log_likelihood": %s,\n', show(fit$minus2loglik)))
cat(sprintf('"rates": [[%s], [%s], [%s]],\n', show(pick(q$estimates)), show(pick(q$L)), show(pick(q$U))))
cat(sprintf('"mean_sd": [[%s], [%s], [%s]]\n', show(h$pars), show(h$ci[, 1]), show(h$ci[, 2])))
cat("}\n")
