import { readFileSync } from 'node:fs'
import type { Env } from '#common/env.ts'
import { Failure } from '#common/errors.ts'

const LINE = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/
const QUOTED = /^(["'])(.*)\1$/

/** The settings in a file as systemd reads it: a line `NAME=VALUE` each. Throws `invalid` for a line that is none. */
export function readEnvFile(file: string): Env {
  const env: Record<string, string> = {}
  for (const [nth, line] of read(file).split('\n').entries()) {
    const text = line.trim()
    if (text === '' || text.startsWith('#') || text.startsWith(';')) continue
    const [, name, value = ''] = LINE.exec(text) ?? []
    if (name === undefined)
      throw new Failure(
        'invalid',
        `Line ${nth + 1} of ${file} is not NAME=VALUE. A comment begins with #.`,
      )
    env[name] = QUOTED.exec(value)?.[2] ?? value
  }
  return env
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new Failure('invalid', `${file} cannot be read.`, { cause })
  }
}
