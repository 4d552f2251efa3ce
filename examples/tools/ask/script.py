import llmr.mcp
import llmr.ai

def main():
    question = llmr.mcp.get("question")
    model = llmr.mcp.get("model", "mistralai/devstral-small-2-2512")

    if not question:
        llmr.mcp.return_string("Error: question parameter is required")
        return

    # Create messages for the AI
    messages = [
        {"role": "system", "content": "You are a helpful assistant."},
        {"role": "user", "content": question}
    ]

    # Get AI completion (automatic tool calling is handled internally)
    response = llmr.ai.completion(model, messages)

    llmr.mcp.return_string(response)

main()
