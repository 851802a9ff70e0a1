"""How noisy rewards are: variance models, sandwich and cluster covariances, interaction variances."""
