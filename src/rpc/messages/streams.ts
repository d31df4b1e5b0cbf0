/** The stream with each message mapped, when it is asked for. */
export async function* mapStream<Message>(
  messages: AsyncIterable<Message>,
  map: (message: Message) => Message | Promise<Message>,
): AsyncGenerator<Message> {
  for await (const message of messages) yield await map(message)
}

/** The stream with the error at its end mapped, if it ends with one. */
export async function* mapErrors<Message>(
  messages: AsyncIterable<Message>,
  map: (error: unknown) => unknown,
): AsyncGenerator<Message> {
  try {
    yield* messages
  } catch (error) {
    throw map(error)
  }
}
