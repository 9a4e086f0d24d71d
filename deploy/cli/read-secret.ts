import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Env } from '#common/env.ts'
import { Failure } from '#common/errors.ts'

/** A secret typed without echo at a terminal, after the prompt; elsewhere all of standard input. */
export async function readSecret(prompt: string): Promise<string> {
  const { stdin, stderr } = process
  if (!stdin.isTTY) return (await text(stdin)).replace(/\r?\n$/, '')
  stderr.write(prompt)
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: stdin, output: unseen, terminal: true })
  terminal.once('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  try {
    return await terminal.question('')
  } finally {
    terminal.close()
    stderr.write('\n')
  }
}

/** The sources of a join token besides a file: every user of the machine sees a command line. */
const JOIN_TOKEN = 'WEIR_JOIN_TOKEN'

/** The token of `--token-file` (`-`: standard input), or else of the environment. Throws `invalid` where there is none. */
export async function readJoinTokenOption(file: string | undefined, env: Env): Promise<string> {
  const token = await tokenAt(file, env)
  if (token !== undefined && token.trim() !== '') return token.trim()
  throw new Failure(
    'invalid',
    `A join token is needed: give its file with --token-file (- reads standard input), or set ${JOIN_TOKEN}.`,
  )
}

async function tokenAt(file: string | undefined, env: Env): Promise<string | undefined> {
  if (file === undefined) return env[JOIN_TOKEN]
  if (file === '-') return readSecret('Join token: ')
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new Failure('invalid', `--token-file ${file} cannot be read.`, { cause })
  }
}
