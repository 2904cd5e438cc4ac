"""How sessions are simulated: policies, interventions, people who read and click."""
