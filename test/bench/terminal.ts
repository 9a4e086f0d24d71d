/** Rejects when the user has had enough, so that everything started is stopped. */
export function interrupted(): Promise<never> {
  return new Promise((_, reject) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const)
      process.once(name, () => reject(new Error(`interrupted by ${name}`)))
  })
}

export function printLine(line: string): void {
  process.stdout.write(`${line}\n`)
}

export function progress(line: string): void {
  process.stderr.write(`${line}\n`)
}
