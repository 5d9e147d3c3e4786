"""Questions about the made-up records of eICU: `eicu.py` gathers their kinds, those of `medagentgym.synthetic.questions` among them."""
