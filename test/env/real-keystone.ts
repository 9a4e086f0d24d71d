import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { waitFor } from '#common/wait-for.ts'
import { runTool } from '#deploy/packages/run-tool.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { logTail, startProcess } from '#deploy/process/start-process.ts'
import { stopProcess } from '#deploy/process/stop-process.ts'

const MANAGE = '/usr/bin/keystone-manage'
const SERVE = '/usr/bin/keystone-wsgi-public'
const LIMIT_MS = 300_000
export const ADMIN_PASSWORD = 'anchor'

/** Why Debian's Keystone cannot run here; undefined when it can. Throws in CI, where it must run. */
export function whyNoKeystone(): string | undefined {
  const missing = [MANAGE, SERVE].filter((file) => !existsSync(file))
  if (missing.length === 0) return undefined
  const why = `not installed: ${missing.join(', ')}`
  if (process.env['CI'] === 'true') throw new Error(`Keystone's tests must run in CI, but: ${why}`)
  return why
}

/** Debian's Keystone, with a user and a project called admin. */
export class RealKeystone implements AsyncDisposable {
  readonly url: string
  readonly #stop: () => Promise<void>
  readonly #logFile: string

  private constructor(url: string, logFile: string, stop: () => Promise<void>) {
    this.url = url
    this.#logFile = logFile
    this.#stop = stop
  }

  static async start(): Promise<RealKeystone> {
    const directory = mkdtempSync(join(tmpdir(), 'weir-keystone-'))
    const file = join(directory, 'keystone.conf')
    const keys = ['fernet', 'credential'].map((name) => join(directory, name))
    for (const folder of keys) mkdirSync(folder)
    writeFileSync(file, configuration(directory, keys))
    const url = `http://127.0.0.1:${await freePort()}/v3`
    const manage = (...args: readonly string[]) =>
      runTool(MANAGE, ['--config-file', file, ...args], { limitMs: LIMIT_MS })
    await manage('db_sync')
    await manage('fernet_setup', '--keystone-user', 'root', '--keystone-group', 'root')
    const password = ['--bootstrap-password', ADMIN_PASSWORD]
    await manage('bootstrap', ...password, '--bootstrap-public-url', url)
    const logFile = join(directory, 'served.log')
    const served = await startProcess({
      command: SERVE,
      args: ['--host', '127.0.0.1', '--port', new URL(url).port],
      env: { PATH: process.env['PATH'], OS_KEYSTONE_CONFIG_FILES: file },
      directory,
      logFile,
      lifetime: 'with-parent',
    })
    const answers = async () => (await request(url)).statusCode === 200
    await waitFor('Keystone to answer', () => answers().catch(() => false), LIMIT_MS)
    return new RealKeystone(url, logFile, async () => {
      await stopProcess(served)
      rmSync(directory, { recursive: true, force: true })
    })
  }

  /** Its answer to a request of its API, made with a token or to get one. */
  async ask(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    { token, body, subject }: KeystoneAsk = {},
  ): Promise<{ readonly token: string; readonly body: Readonly<Record<string, { id: string }>> }> {
    const answer = await request(this.url + path, {
      method,
      headers: {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { 'x-auth-token': token }),
        ...(subject === undefined ? {} : { 'x-subject-token': subject }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    })
    const text = await answer.body.text()
    if (answer.statusCode >= 300)
      throw new Error(
        `${method} ${path} answered ${answer.statusCode}: ${text}\n${logTail(this.#logFile)}`,
      )
    const parsed = text === '' ? {} : (JSON.parse(text) as Readonly<Record<string, { id: string }>>)
    return { token: String(answer.headers['x-subject-token']), body: parsed }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop()
  }
}

interface KeystoneAsk {
  readonly token?: string
  readonly subject?: string
  readonly body?: object
}

function configuration(directory: string, [fernet, credential]: readonly string[]): string {
  return [
    `[DEFAULT]\nlog_dir = ${directory}`,
    `[database]\nconnection = sqlite:///${directory}/keystone.db`,
    `[fernet_tokens]\nkey_repository = ${fernet}`,
    `[credential]\nkey_repository = ${credential}`,
    '[cache]\nenabled = false\n',
  ].join('\n')
}
