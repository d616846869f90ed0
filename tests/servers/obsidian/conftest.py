"""Settings and a vault for every test of this folder."""

from hypothesis import HealthCheck, settings

# The machine may be busy: a slow example is no failure.
settings.register_profile(
    "vault", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60
)
settings.load_profile("vault")
