import type { Account } from './api/client.ts'
import { clientSettings, type Settings, whyNoClient } from './client-program.ts'
import { runOpenstack } from './openstack-shells.ts'

/** Why the command cannot be run here; undefined when it can. With CI set, a reason is an error instead. */
export function whyNoOpenstack(): string | undefined {
  return whyNoClient('python3-openstackclient', '/usr/bin/openstack')
}

/** The log line of urllib3 for an answer. */
const ANSWERED = /"([A-Z]+) (\S+) HTTP\/1\.1" (\d{3})/g

/** Debian's `openstack` as an operator or user of a cloud runs it. */
export class OpenstackCli {
  readonly #env: Settings

  constructor(endpoint: string, account: Account, authPath = '/identity/v3') {
    this.#env = clientSettings(endpoint + authPath, account)
  }

  /** The output of the command; throws its output when it fails. The line is split at blanks. */
  async run(line: string): Promise<string> {
    const { code, out, err } = await runOpenstack(line.split(' '), this.#env)
    if (code !== 0) throw new Error(`openstack ${line} ended with ${code}: ${err}`)
    return out
  }

  /** The command's answer in JSON: a row, or all rows. */
  async json<T = Readonly<Record<string, unknown>>>(line: string): Promise<T> {
    return JSON.parse(await this.run(`${line} -f json`)) as T
  }

  /** `GET /path 200` for every request that the command sends, in order, whether or not it succeeds. */
  async requests(line: string): Promise<readonly string[]> {
    const { err } = await runOpenstack(['--debug', ...line.split(' ')], this.#env)
    return [...err.matchAll(ANSWERED)].map(
      ([, method, path, status]) => `${method} ${path} ${status}`,
    )
  }
}
