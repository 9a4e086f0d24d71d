import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import pLimit from 'p-limit'
import type { Account } from './api/client.ts'

const OPENSTACK = '/usr/bin/openstack'
const RUN_LIMIT_MS = 120_000
const OUTPUT_MAX_BYTES = 16 * 2 ** 20
/** Each command is a Python program of its own that loads for a second or more. */
const PARALLEL_MAX = 2

const slots = pLimit(PARALLEL_MAX)

/** Why the command cannot be run here; undefined when it can. With CI set, a reason is an error instead. */
export function whyNoOpenstack(): string | undefined {
  const why = existsSync(OPENSTACK) ? undefined : 'python3-openstackclient is not installed'
  if (why !== undefined && process.env['CI'] === 'true')
    throw new Error(`the clients' tests must run in CI, but: ${why}`)
  return why
}

/** Debian's `openstack` as an operator or user of a cloud runs it. */
export class OpenstackCli {
  readonly #env: Readonly<Record<string, string>>

  constructor(endpoint: string, { user, password, project }: Account) {
    this.#env = {
      PATH: '/usr/bin:/bin',
      HOME: '/nonexistent',
      OS_AUTH_URL: `${endpoint}/identity/v3`,
      OS_USERNAME: user,
      OS_PASSWORD: password,
      OS_PROJECT_NAME: project,
      OS_USER_DOMAIN_ID: 'default',
      OS_PROJECT_DOMAIN_ID: 'default',
      OS_IDENTITY_API_VERSION: '3',
      OS_REGION_NAME: 'RegionOne',
    }
  }

  /** What the command prints; throws with what it said when it fails. The line is split at blanks. */
  async run(line: string): Promise<string> {
    const options = { env: this.#env, timeout: RUN_LIMIT_MS, maxBuffer: OUTPUT_MAX_BYTES }
    const { stdout } = await slots(() => promisify(execFile)(OPENSTACK, line.split(' '), options))
    return stdout
  }

  /** What the command answers in JSON: a row, or all rows. */
  async json<T = Readonly<Record<string, unknown>>>(line: string): Promise<T> {
    return JSON.parse(await this.run(`${line} -f json`)) as T
  }
}
