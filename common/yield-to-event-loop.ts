const waiting: (() => void)[] = []

/**
 * Resolves in a later turn of the event loop, for one caller in each, in the order in which they came: for long work in
 * slices. However many do some, others wait for one slice at a time.
 */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(next)
  })
}

function next(): void {
  const resolve = waiting.shift()
  if (waiting.length > 0) setImmediate(next)
  resolve?.()
}
