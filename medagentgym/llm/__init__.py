"""Language models: messages, descriptors, and the client that calls a model service.

Importing this is light; the service's SDK is loaded when a model is first called.
"""

from medagentgym.llm.messages import Message, make_assistant_message, make_system_message, make_user_message
from medagentgym.llm.models import AzureModelArgs, BaseModelArgs, OpenAIModelArgs, VLLMModelArgs, from_config

__all__ = [
    "AzureModelArgs",
    "BaseModelArgs",
    "Message",
    "OpenAIModelArgs",
    "VLLMModelArgs",
    "from_config",
    "make_assistant_message",
    "make_system_message",
    "make_user_message",
]
