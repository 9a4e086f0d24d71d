import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import pLimit from 'p-limit'
import type { Account } from './api/client.ts'

const RUN_LIMIT_MS = 120_000
const OUTPUT_MAX_BYTES = 16 * 2 ** 20
/** Each client is a program of its own that loads for a second or more. */
const PARALLEL_MAX = 2

const slots = pLimit(PARALLEL_MAX)

export type Settings = Readonly<Record<string, string>>

/**
 * Why a client cannot be run here: the Debian package that is not installed, or its `file` that is missing; undefined
 * when it can. With CI set, a reason is an error instead.
 */
export function whyNoClient(
  name: string,
  file = `/var/lib/dpkg/info/${name}.list`,
): string | undefined {
  const why = existsSync(file) ? undefined : `${name} is not installed`
  if (why !== undefined && process.env['CI'] === 'true')
    throw new Error(`the clients' tests must run in CI, but: ${why}`)
  return why
}

/** All that a client knows of the cloud and of the machine. */
export function clientSettings(authUrl: string, { user, password, project }: Account): Settings {
  return {
    PATH: '/usr/bin:/bin',
    HOME: '/nonexistent',
    PYTHONDONTWRITEBYTECODE: '1',
    OS_AUTH_URL: authUrl,
    OS_USERNAME: user,
    OS_PASSWORD: password,
    OS_PROJECT_NAME: project,
    OS_USER_DOMAIN_ID: 'default',
    OS_PROJECT_DOMAIN_ID: 'default',
    OS_IDENTITY_API_VERSION: '3',
    OS_REGION_NAME: 'RegionOne',
  }
}

/** The output of the program; throws its output when it fails. */
export async function runClient(
  program: string,
  args: readonly string[],
  env: Settings,
  limitMs = RUN_LIMIT_MS,
): Promise<string> {
  const options = { env, timeout: limitMs, maxBuffer: OUTPUT_MAX_BYTES }
  const { stdout } = await slots(() => promisify(execFile)(program, [...args], options))
  return stdout
}
