/** A line of the command's result: standard output. */
export function say(line = ''): void {
  process.stdout.write(`${line}\n`)
}

/** A line about progress: on standard error, so that results can be piped. */
export function progress(line: string): void {
  process.stderr.write(`${line}\n`)
}
