import { writeSync } from 'node:fs'
import { type DestinationStream, pino } from 'pino'

const STANDARD_OUTPUT = 1
/** Lines that come within this time are written together: a write of its own costs as much as making the line. */
const GATHER_MS = 20

let shared: DestinationStream | undefined

/** Standard output, one for all loggers of the process: a line is written in a moment, or when the process exits. */
export function logOutput(): DestinationStream {
  shared ??= gatheredOutput()
  return shared
}

function gatheredOutput(): DestinationStream {
  const output = pino.destination({ dest: STANDARD_OUTPUT })
  let lines: string[] = []
  const taken = () => {
    const text = lines.join('')
    lines = []
    return text
  }
  process.once('exit', () => {
    output.flushSync()
    const text = taken()
    // Without a reader there is no output any more, and pino says nothing of that either.
    try {
      if (text !== '') writeSync(STANDARD_OUTPUT, text)
    } catch {}
  })
  return {
    write: (line) => {
      if (lines.push(line) === 1) setTimeout(() => output.write(taken()), GATHER_MS).unref()
    },
  }
}
