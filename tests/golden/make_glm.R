# Golden values of generalised linear models: tests/golden/{glm,firth,softmax,firth_softmax}.json, made again by
#     Rscript tests/golden/make_glm.R            (from the project's root; PYTHON=... names another interpreter)
# The rows are those of tests/golden/fits.py, which the tests read too; the real tables lie in ../shared/data.
# Made with R 4.2.2, MASS 7.3, sandwich 3.0, statmod 1.5, brglm2 0.9, nnet 7.3. Two minutes.
#
# Every fit is iterated far past R's own stopping rule, so that its error is rounding (the scores, in standard
# errors, must be below 1e-8, or the script stops). Vectors have the intercept first. Robust covariances are written
# out by hand and must agree with sandwich's to 1e-8. Frequencies are rows repeated.

suppressPackageStartupMessages({
  library(MASS); library(sandwich); library(statmod); library(brglm2); library(nnet)
})

# ---- JSON: names, strings, numbers to 15 digits; NA is null ----

json <- function(x, pad = "") {
  if (is.null(x)) return("null")
  number <- function(v) ifelse(is.na(v), "null", sprintf("%.15g", v))
  if (is.list(x)) {
    inner <- paste0(pad, "  ")
    body <- vapply(seq_along(x), function(i) {
      value <- json(x[[i]], inner)
      if (is.null(names(x))) paste0(inner, value) else paste0(inner, "\"", names(x)[i], "\": ", value)
    }, "")
    if (is.null(names(x))) return(paste0("[\n", paste(body, collapse = ",\n"), "\n", pad, "]"))
    return(paste0("{\n", paste(body, collapse = ",\n"), "\n", pad, "}"))
  }
  if (is.matrix(x)) {
    rows <- apply(x, 1, function(r) paste0("[", paste(number(r), collapse = ", "), "]"))
    return(paste0("[", paste(rows, collapse = paste0(",\n ", pad)), "]"))
  }
  if (is.character(x)) return(paste0("\"", x, "\""))
  if (inherits(x, "scalar")) return(number(unclass(x)))
  paste0("[", paste(number(as.vector(x)), collapse = ", "), "]")
}
one <- function(v) structure(as.vector(v), class = "scalar")

# ---- rows and laws ----

read <- function(stem) {
  spec <- readLines(paste0(stem, ".txt"))
  cut <- regexpr(",", spec)
  spec <- setNames(as.list(substring(spec, cut + 1)), substring(spec, 1, cut - 1))
  raw <- as.matrix(read.csv(paste0(stem, ".csv"), na.strings = "nan"))
  numbers <- function(s) as.integer(strsplit(s, " ")[[1]])
  rows <- raw
  if (!anyNA(raw[, "frequency"])) rows <- raw[rep(seq_len(nrow(raw)), raw[, "frequency"]), , drop = FALSE]
  X <- rows[, -(1:5), drop = FALSE]
  if (spec$intercept == "1") X <- cbind(x0 = 1, X)
  pick <- function(name, blank) if (anyNA(rows[, name])) rep(blank, nrow(rows)) else unname(rows[, name])
  list(
    spec = spec, X = X, y = unname(rows[, "y"]), w = pick("precision", 1), offset = pick("offset", 0),
    group = if (anyNA(rows[, "group"])) NULL else unname(rows[, "group"]),
    asks = strsplit(spec$asks, " ")[[1]],
    tests = lapply(strsplit(spec$tests, ";")[[1]], function(s) paste0("x", numbers(s))),
    profile = if (spec$profile == "") character() else paste0("x", numbers(spec$profile)),
    data = list(  # by which the tests see that the rows are still those of this script
      rows = one(nrow(raw)), columns = one(ncol(raw) - 5), y = one(sum(raw[, "y"])),
      squares = one(sum(raw[, -(1:5)]^2))
    )
  )
}

law <- function(spec) {
  link <- if (spec$link == "inverse_squared") "1/mu^2" else spec$link
  switch(spec$family,
    gaussian = gaussian(link), binomial = binomial(link), poisson = poisson(link), gamma = Gamma(link),
    inverse_gaussian = inverse.gaussian(link),
    negative_binomial = negative.binomial(as.numeric(spec$size), link),
    tweedie = tweedie(var.power = as.numeric(spec$power), link.power = 0)
  )
}

KNOWN <- c("binomial", "poisson", "negative_binomial")

# ---- the fit, iterated until nothing moves ----

fit <- function(t, X = t$X, offset = t$offset, start = NULL) {
  frame <- data.frame(y = t$y, X)
  formula <- reformulate(c("0", colnames(X)), "y")
  environment(formula) <- environment()
  family <- law(t$spec)
  w <- t$w
  quiet <- function(e) withCallingHandlers(e, warning = function(m) {
    # stopped on purpose; proportions; far tails of the cloglog; steps out of a link's domain, which R halves
    if (grepl("did not converge|non-integer|numerically 0 or 1|NaNs|step size truncated|stopped at boundary",
      conditionMessage(m))) invokeRestart("muffleWarning")
  })
  m <- quiet(glm(formula, family, frame, weights = w, offset = offset, start = start,
    control = glm.control(epsilon = 1e-14, maxit = 100)))
  # R stops where the deviance no longer changes, which leaves about 1e-7 standard errors; Fisher's steps go on.
  b <- coef(m)
  for (i in 1:500) {
    eta <- drop(X %*% b) + offset
    slope <- family$mu.eta(eta)
    W <- w * slope^2 / family$variance(family$linkinv(eta))
    factor <- qr(X * sqrt(W), LAPACK = TRUE)
    step <- qr.coef(factor, sqrt(W) * (t$y - family$linkinv(eta)) / slope)
    b <- b + step
    if (sum((X %*% step)^2 * W) < 1e-24 * sum(W * ((t$y - family$linkinv(eta)) / slope)^2) / length(W)) break
  }
  m <- quiet(glm(formula, family, frame, weights = w, offset = offset, start = b,
    control = glm.control(epsilon = 1e-300, maxit = 2)))
  score <- crossprod(X, m$residuals * m$weights)
  off <- abs(score) * sqrt(diag(summary(m, dispersion = 1)$cov.scaled)) / sqrt(pearson(m, t))
  if (max(off) > 1e-8) stop("a score is ", format(max(off)), " standard errors")
  m
}

# A model without columns: its mean is that of the offset.
bare <- function(t, offset) {
  family <- law(t$spec)
  mu <- family$linkinv(offset)
  list(deviance = sum(family$dev.resids(t$y, mu, t$w)), residuals = (t$y - mu) / family$mu.eta(offset),
    weights = t$w * family$mu.eta(offset)^2 / family$variance(mu))
}

smaller <- function(t, X, offset = t$offset, start = NULL)
  if (ncol(X) == 0) bare(t, offset) else fit(t, X, offset, start)

pearson <- function(m, t) {
  if (t$spec$family %in% KNOWN) return(1)
  sum(m$weights * m$residuals^2) / m$df.residual
}

# ---- what is recorded ----

robust <- function(m, t, V) {
  X <- t$X
  n <- nrow(X); k <- ncol(X)
  s <- m$residuals * m$weights                      # score with respect to eta, without 1/phi
  bread <- summary(m, dispersion = 1)$cov.scaled
  h <- unname(hatvalues(m))
  type <- list(HC0 = s^2, HC1 = s^2 * n / (n - k), HC2 = s^2 / (1 - h), HC3 = s^2 / (1 - h)^2)
  out <- lapply(type, function(omega) bread %*% crossprod(X * sqrt(omega)) %*% bread)
  for (name in names(out)) {
    theirs <- vcovHC(m, type = name)
    if (max(abs(out[[name]] / theirs - 1)) > 1e-8 && max(abs(out[[name]] - theirs)) > 1e-8 * max(abs(theirs)))
      stop(name, " is not sandwich's")
  }
  list(
    standard_errors = lapply(out, function(M) sqrt(diag(M))),
    HC0 = out$HC0
  )
}

clustered <- function(m, t) {
  X <- t$X
  n <- nrow(X); k <- ncol(X)
  s <- rowsum(X * (m$residuals * m$weights), t$group)
  G <- nrow(s)
  bread <- summary(m, dispersion = 1)$cov.scaled
  V <- bread %*% crossprod(s) %*% bread * G / (G - 1) * (n - 1) / (n - k)
  theirs <- vcovCL(m, cluster = t$group, type = "HC1", cadjust = TRUE)
  if (max(abs(V - theirs)) > 1e-8 * max(abs(theirs))) stop("the cluster covariance is not sandwich's")
  list(groups = one(G), standard_errors = sqrt(diag(V)), covariance = V)
}

# Both ends of {b : deviance(b) - deviance <= cut}, each by a root of refits with the column in the offset.
ends <- function(estimate, step, excess) {
  root <- function(direction) {
    near <- estimate
    far <- estimate + direction * step
    tries <- 0
    while (excess(far) < 0) {
      near <- far
      far <- far + direction * step
      tries <- tries + 1
      if (tries > 100) stop("no end of the profile")
    }
    range <- sort(c(near, far))
    uniroot(excess, range, tol = 1e-12 * step, maxiter = 200)$root
  }
  c(root(-1), root(1))
}

profiled <- function(m, t, phi, name) {
  cut <- if (t$spec$family %in% KNOWN) qchisq(0.95, 1) else phi * qf(0.95, 1, m$df.residual)
  x <- t$X[, name]
  rest <- t$X[, colnames(t$X) != name, drop = FALSE]
  b <- unname(coef(m)[name])
  se <- sqrt(phi * summary(m, dispersion = 1)$cov.scaled[name, name])
  V <- summary(m, dispersion = 1)$cov.scaled
  others <- colnames(rest)
  ends(b, 0.5 * se, function(value) {
    start <- coef(m)[others] + V[others, name] / V[name, name] * (value - b)
    smaller(t, rest, t$offset + value * x, start)$deviance - m$deviance - cut
  })
}

tested <- function(m, t, phi, V, names) {
  q <- length(names)
  known <- t$spec$family %in% KNOWN
  rest <- t$X[, setdiff(colnames(t$X), names), drop = FALSE]
  m0 <- smaller(t, rest)
  b <- coef(m)[names]
  wald <- drop(b %*% solve(V[names, names], b))
  lr <- (m0$deviance - m$deviance) / phi
  W <- m0$weights
  U <- crossprod(t$X, W * m0$residuals)
  rao <- drop(crossprod(U, solve(crossprod(t$X * sqrt(W)), U, tol = 1e-30))) / phi
  if ("x0" %in% colnames(rest)) {  # anova's Rao takes the weighted mean out, which is 0 only with an intercept
    theirs <- anova(m0, m, dispersion = phi, test = "Rao")[2, c("Rao", "Pr(>Chi)")]
    scale <- if (known) 1 else phi
    stopifnot(abs(theirs[1, 1] / scale / rao - 1) < 1e-6)
    stopifnot(abs(theirs[1, 2] / pchisq(rao, q, lower.tail = FALSE) - 1) < 1e-5)
  }
  p <- function(s) if (known) pchisq(s, q, lower.tail = FALSE) else pf(s / q, q, m$df.residual, lower.tail = FALSE)
  list(
    df = one(q),
    wald = c(if (known) wald else wald / q, p(wald)),
    lr = c(if (known) lr else lr / q, p(lr)),
    score = c(rao, pchisq(rao, q, lower.tail = FALSE)),
    score_as_F = if (known) NULL else c(rao / q, p(rao))
  )
}

# Models of growing size: what is in no set, then the columns of each set in turn.
sequence <- function(t, sets) {
  names <- setdiff(colnames(t$X), unlist(sets))
  models <- list(fit(t, t$X[, names, drop = FALSE]))
  for (added in sets) {
    names <- colnames(t$X)[colnames(t$X) %in% c(names, added)]
    models <- c(models, list(fit(t, t$X[, names, drop = FALSE])))
  }
  known <- t$spec$family %in% KNOWN
  a <- do.call(anova, c(models, list(test = if (known) "Chisq" else "F")))
  list(
    df_residual = a[["Resid. Df"]], deviance = a[["Resid. Dev"]], df = a[["Df"]], change = a[["Deviance"]],
    statistic = if (known) a[["Deviance"]] else a[["F"]], p = if (known) a[["Pr(>Chi)"]] else a[["Pr(>F)"]]
  )
}

# logLik, AIC and BIC as R's; for the Tweedie R has none.
likelihood <- function(m, t) {
  if (t$spec$family == "tweedie") return(list(log_likelihood = one(NA), aic = one(NA), bic = one(NA)))
  list(log_likelihood = one(as.numeric(logLik(m))), aic = one(AIC(m)), bic = one(BIC(m)))
}

null_deviance <- function(t) {
  if (!"x0" %in% colnames(t$X)) return(bare(t, t$offset)$deviance)
  fit(t, t$X[, "x0", drop = FALSE])$deviance
}

record <- function(t) {
  m <- fit(t)
  known <- t$spec$family %in% KNOWN
  phi <- pearson(m, t)
  V <- summary(m, dispersion = phi)$cov.scaled
  se <- sqrt(diag(V))
  z <- coef(m) / se
  quantile <- if (known) qnorm(0.975) else qt(0.975, m$df.residual)
  out <- c(
    list(
      family = t$spec$family, link = t$spec$link, data = t$data,
      coefficients = coef(m), standard_errors = se, z = z,
      p = if (known) 2 * pnorm(-abs(z)) else 2 * pt(-abs(z), m$df.residual),
      wald = cbind(coef(m) - quantile * se, coef(m) + quantile * se),
      covariance = V, dispersion = one(phi), deviance = one(m$deviance), null_deviance = one(null_deviance(t)),
      df_residual = one(m$df.residual)
    ),
    likelihood(m, t)
  )
  out$tests <- lapply(t$tests, function(names) tested(m, t, phi, V, names))
  if (length(t$profile)) out$profile <- t(vapply(t$profile, function(name) profiled(m, t, phi, name), c(0, 0)))
  if ("HC" %in% t$asks) out$robust <- robust(m, t, V)
  if (!is.null(t$group)) out$cluster <- clustered(m, t)
  if ("rows" %in% t$asks) {
    out$rows <- list(
      fitted = fitted(m), leverage = hatvalues(m), cook = cooks.distance(m, dispersion = phi),
      deviance = residuals(m, "deviance"), pearson = residuals(m, "pearson"),
      response = residuals(m, "response"), working = residuals(m, "working")
    )
  }
  if ("anova" %in% t$asks) {
    out$anova <- sequence(t, t$tests)
    out$columns <- sequence(t, as.list(setdiff(colnames(t$X), "x0")))
  }
  out
}

# ---- Firth: brglm2, and the penalised likelihood maximised by optim ----

firth <- function(t) {
  frame <- data.frame(y = t$y, t$X)
  w <- t$w
  offset <- t$offset
  family <- law(t$spec)
  m <- glm(reformulate(c("0", colnames(t$X)), "y", env = environment()), family, frame, weights = w,
    offset = offset, method = "brglmFit", type = "AS_mean", epsilon = 1e-12, maxit = 1000, check_aliasing = FALSE)
  stopifnot(m$converged)
  X <- t$X
  k <- ncol(X)
  poisson <- t$spec$family == "poisson"
  mean <- function(b) family$linkinv(drop(X %*% b) + offset)
  information <- function(b) crossprod(X * sqrt(w * family$variance(mean(b))))  # canonical links only
  objective <- function(b) {
    eta <- drop(X %*% b) + offset
    loglik <- if (poisson) sum(w * dpois(t$y, exp(eta), log = TRUE)) else
      sum(w * (t$y * plogis(eta, log.p = TRUE) + (1 - t$y) * plogis(-eta, log.p = TRUE)))
    loglik + 0.5 * as.numeric(determinant(information(b))$modulus)
  }
  gradient <- function(b) {
    mu <- mean(b)
    h <- rowSums((X %*% solve(information(b), tol = 1e-30)) * X) * w * family$variance(mu)
    drop(crossprod(X, w * (t$y - mu) + h * (if (poisson) 0.5 else 0.5 - mu)))
  }
  se <- sqrt(diag(solve(information(coef(m)), tol = 1e-30)))
  if (max(abs(gradient(coef(m))) * se) > 1e-8) stop("brglm2's estimate is not the penalised optimum")
  # max over the coordinates in `free`, the others as in `b`, in coordinates in which the information is about 1
  best <- function(b, free) {
    L <- t(chol(solve(information(coef(m))[free, free], tol = 1e-30)))
    from <- b[free]
    at <- function(u) { b[free] <- from + drop(L %*% u); b }
    slope <- function(u) drop(crossprod(L, gradient(at(u))[free]))
    u <- 0 * from
    for (i in 1:20) {
      found <- optim(u, function(u) -objective(at(u)), function(u) -slope(u),
        method = "BFGS", control = list(reltol = 1e-16, maxit = 1000))
      u <- found$par
      if (max(abs(slope(u))) < 1e-6) break  # the value then is off by 1e-12
    }
    if (max(abs(slope(u))) > 1e-6) stop("optim stopped too early")
    list(par = at(u), value = -found$value)
  }
  top <- best(coef(m), seq_len(k))
  out <- list(
    data = t$data, coefficients = coef(m), standard_errors = sqrt(diag(vcov(m))), covariance = vcov(m),
    log_likelihood = one(as.numeric(logLik(m))), penalised = one(top$value)
  )
  stopifnot(abs(objective(coef(m)) - top$value) < 1e-10, max(abs(out$standard_errors / se - 1)) < 1e-8)
  if (!("penalised" %in% t$asks)) return(out)
  out$profile <- t(vapply(match(t$profile, colnames(X)), function(j) {
    free <- setdiff(seq_len(k), j)
    ends(coef(m)[[j]], 0.5 * se[j], function(value) {
      b <- coef(m)
      b[j] <- value
      2 * (top$value - best(b, free)$value) - qchisq(0.95, 1)
    })
  }, c(0, 0)))
  out$tests <- lapply(t$tests, function(names) {
    held <- match(names, colnames(X))
    b <- coef(m)
    b[held] <- 0
    lr <- 2 * (top$value - best(b, setdiff(seq_len(k), held))$value)
    list(df = one(length(held)), lr = c(lr, pchisq(lr, length(held), lower.tail = FALSE)))
  })
  out
}

# ---- softmax: Newton's method from nnet's answer; class by class against the first ----

softmax_pieces <- function(t, b) {
  X <- t$X
  K <- max(t$y) + 1
  e <- exp(X %*% matrix(b, ncol(X)))
  P <- e / (1 + rowSums(e))
  H <- do.call(rbind, lapply(1:(K - 1), function(j) do.call(cbind, lapply(1:(K - 1), function(l)
    crossprod(X, X * (P[, j] * ((j == l) - P[, l])))))))
  left <- outer(t$y, 1:(K - 1), "==") - P
  list(
    H = H, scores = do.call(cbind, lapply(1:(K - 1), function(j) X * left[, j])),
    value = sum(log(cbind(1 / (1 + rowSums(e)), P)[cbind(seq_along(t$y), t$y + 1)]))
  )
}

softmax <- function(t) {
  X <- t$X
  n <- nrow(X)
  K <- max(t$y) + 1
  capture.output(m <- multinom(factor(t$y) ~ 0 + X, reltol = 1e-12, maxit = 10000))
  k <- (K - 1) * ncol(X)
  pieces <- function(b) softmax_pieces(t, b)
  best <- function(b, free = seq_len(k)) {  # the others as they are
    for (i in 1:100) {
      now <- pieces(b)
      step <- solve(now$H[free, free], colSums(now$scores)[free], tol = 1e-30)
      size <- 1
      repeat {
        new <- b
        new[free] <- b[free] + size * step
        if (pieces(new)$value >= now$value - 1e-10 * abs(now$value)) break
        size <- size / 2
      }
      b <- new
      if (sum(step * now$H[free, free] %*% step) < 1e-24) return(b)
    }
    stop("Newton's method did not settle")
  }
  b <- best(as.vector(t(coef(m))))
  now <- pieces(b)
  V <- solve(now$H, tol = 1e-30)
  se <- sqrt(diag(V))
  stopifnot(max(abs(colSums(now$scores)) * se) < 1e-8)
  off <- max(abs(b - as.vector(t(coef(m)))) / se)
  if (off > 1e-3) stop("nnet is ", off, " standard errors away")
  robust <- V %*% crossprod(now$scores) %*% V
  heads <- function(name) (seq_len(K - 1) - 1) * ncol(X) + match(name, colnames(X))
  tests <- lapply(t$tests, function(names) {
    held <- sort(unlist(lapply(names, heads)))
    zero <- b
    zero[held] <- 0
    small <- pieces(best(zero, setdiff(seq_len(k), held)))
    U <- colSums(small$scores)
    statistic <- c(b[held] %*% solve(V[held, held], b[held]), 2 * (now$value - small$value),
      U %*% solve(small$H, U, tol = 1e-30))
    p <- pchisq(statistic, length(held), lower.tail = FALSE)
    list(df = one(length(held)), wald = c(statistic[1], p[1]), lr = c(statistic[2], p[2]),
      score = c(statistic[3], p[3]))
  })
  profile <- t(vapply(unlist(lapply(t$profile, heads)), function(j) {
    ends(b[j], 0.5 * se[j], function(value) {
      moved <- b + V[, j] / V[j, j] * (value - b[j])
      2 * (now$value - pieces(best(moved, setdiff(seq_len(k), j)))$value) - qchisq(0.95, 1)
    })
  }, c(0, 0)))
  list(
    data = t$data, coefficients = b, standard_errors = se, covariance = V, log_likelihood = one(now$value),
    deviance = one(-2 * now$value), aic = one(2 * k - 2 * now$value), bic = one(k * log(n) - 2 * now$value),
    wald = cbind(b - qnorm(0.975) * se, b + qnorm(0.975) * se), tests = tests, profile = profile,
    robust = list(HC0 = robust, HC1 = robust * n / (n - k))
  )
}

# The same with Jeffreys' prior: brglm2's Poisson model with a constant for every row, whose scores must then vanish.
firth_softmax <- function(t) {
  y <- factor(t$y)
  X <- t$X
  m <- suppressWarnings(brmultinom(y ~ 0 + X, ref = 1, type = "AS_mean", epsilon = 1e-12, maxit = 5000))
  b <- as.vector(t(coef(m)))
  objective <- function(b) {
    now <- softmax_pieces(t, b)
    now$value + 0.5 * as.numeric(determinant(now$H)$modulus)
  }
  now <- softmax_pieces(t, b)
  V <- solve(now$H, tol = 1e-30)
  L <- t(chol(V))
  slope <- vapply(seq_along(b), function(j) {
    h <- 1e-4
    (objective(b + h * L[, j]) - objective(b - h * L[, j])) / (2 * h)
  }, 0)
  if (max(abs(slope)) > 1e-6) stop("brglm2's estimate is not the penalised optimum: ", max(abs(slope)))
  list(data = t$data, coefficients = b, standard_errors = sqrt(diag(V)), covariance = V,
    log_likelihood = one(now$value))
}

# ---- all of it ----

main <- function() {
  here <- "tests/golden"
  if (!file.exists(file.path(here, "fits.py"))) stop("run this from the project's root")
  python <- Sys.getenv("PYTHON", ".venv/bin/python")
  folder <- tempfile("golden")
  if (system2(python, c("-m", "tests.golden.fits", folder)) != 0) stop("the rows could not be written")
  on.exit(unlink(folder, recursive = TRUE))
  kinds <- list(glm = record, firth = firth, softmax = softmax, firth_softmax = firth_softmax)
  for (kind in names(kinds)) {
    names <- sub("\\.txt$", "", list.files(file.path(folder, kind), "\\.txt$"))
    values <- lapply(setNames(names, names), function(name) {
      message(kind, " ", name)
      kinds[[kind]](read(file.path(folder, kind, name)))
    })
    writeLines(json(values), file.path(here, paste0(kind, ".json")))
  }
}

if (sys.nframe() == 0) main()
