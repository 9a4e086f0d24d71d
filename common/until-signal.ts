/** Resolves when a signal tells the process to stop. */
export function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    // A timer keeps the process alive: nothing else may hold the event loop while it waits.
    const alive = setInterval(() => {}, 2 ** 30)
    for (const name of ['SIGTERM', 'SIGINT'] as const)
      process.once(name, (signal) => {
        clearInterval(alive)
        resolve(signal)
      })
  })
}
