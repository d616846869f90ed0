"""Settings for the whole suite."""

from hypothesis import HealthCheck, settings

# Machines that run this suite may be busy with other things: slowness is no finding.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
