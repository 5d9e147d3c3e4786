"""The audit of a task: can its instances be judged, and can its judges be fooled?

Every instance's reference, broken references and cheats (`medagentgym.tasks.probes`) are played through the environment in real boxes, and every
judge of the task says what it accepts. No model is called and nothing leaves the machine.
"""
