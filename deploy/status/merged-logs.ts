import { type ChildProcess, spawn } from 'node:child_process'
import { createReadStream, existsSync } from 'node:fs'
import { createInterface } from 'node:readline'

/** From little to much. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'fatal'] as const

/** Which lines are shown; absent: all. */
export interface LogFilter {
  /** This one and what is worse. */
  readonly level?: (typeof LOG_LEVELS)[number] | undefined
  /** ISO 8601. */
  readonly since?: string | undefined
  readonly until?: string | undefined
  readonly server?: string | undefined
  readonly request?: string | undefined
}

export interface LogFile {
  /** The name of its process. */
  readonly process: string
  readonly path: string
}

interface ReadLine {
  readonly time: string
  readonly text: string
}

/**
 * The newest lines of these logs that pass, at most `max`, in the order of their times, each with its process. Text between a
 * program's lines, such as what Node writes when it ends, stays behind the line before it, and passes with no filter but
 * those of time.
 */
export async function mergedLines(
  files: readonly LogFile[],
  filter: LogFilter,
  max: number,
): Promise<readonly string[]> {
  const found = await Promise.all(files.map((file) => newestOf(file, filter, max)))
  // Stable: lines of one time stay in the order of their log.
  const merged = found.flat().toSorted((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0))
  return merged.slice(-max).map(({ text }) => text)
}

/** Reads what was kept when the log became too long, too. */
async function newestOf(
  { process, path }: LogFile,
  filter: LogFilter,
  max: number,
): Promise<readonly ReadLine[]> {
  const newest: ReadLine[] = []
  let time = ''
  for (const each of [`${path}.1`, path].filter(existsSync))
    for await (const line of createInterface({ input: createReadStream(each) })) {
      const fields = fieldsOf(line)
      time = fields?.time ?? time
      if (!passes(line, fields, time, filter)) continue
      newest.push({ time, text: withProcess(line, fields, process) })
      // So that a long log is not kept whole, nor shortened at each line.
      if (newest.length > 2 * max) newest.splice(0, newest.length - max)
    }
  return newest.slice(-max)
}

/** Calls `show` with each line that is written from now on and passes, until the process is interrupted. */
export async function followLines(
  files: readonly LogFile[],
  filter: LogFilter,
  show: (line: string) => void,
): Promise<void> {
  await Promise.all(
    files.map(async ({ process, path }) => {
      const tail = followed(path)
      let time = ''
      for await (const line of createInterface({ input: tail.stdout! })) {
        const fields = fieldsOf(line)
        time = fields?.time ?? time
        if (passes(line, fields, time, filter)) show(withProcess(line, fields, process))
      }
    }),
  )
}

/** Follows the name: a log that becomes too long is replaced. */
function followed(path: string): ChildProcess {
  return spawn('tail', ['-n', '0', '-F', '-q', '--', path], { stdio: ['ignore', 'pipe', 'ignore'] })
}

interface Fields {
  readonly time?: string
  readonly level?: string
  readonly server_id?: unknown
  readonly request_id?: unknown
}

/** Undefined for a line that is not JSON. */
function fieldsOf(line: string): Fields | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    return JSON.parse(line) as Fields
  } catch {
    return undefined
  }
}

function passes(
  line: string,
  fields: Fields | undefined,
  time: string,
  { level, since, until, server, request }: LogFilter,
): boolean {
  if (line === '' || (since !== undefined && time < since)) return false
  if (until !== undefined && time > until) return false
  if (level === undefined && server === undefined && request === undefined) return true
  if (fields === undefined) return false
  const rank = (of: string | undefined) => LOG_LEVELS.findIndex((each) => each === of)
  if (level !== undefined && rank(fields.level) < rank(level)) return false
  if (server !== undefined && fields.server_id !== server) return false
  return request === undefined || fields.request_id === request
}

/** The line as it is, with its process first. */
function withProcess(line: string, fields: Fields | undefined, process: string): string {
  if (fields === undefined) return `${process}: ${line}`
  return `{"from":${JSON.stringify(process)},${line.slice(1)}`
}
