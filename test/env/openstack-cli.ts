import type { Account } from './api/client.ts'
import { clientSettings, runClient, type Settings, whyNoClient } from './client-program.ts'

const OPENSTACK = '/usr/bin/openstack'

/** Why the command cannot be run here; undefined when it can. With CI set, a reason is an error instead. */
export function whyNoOpenstack(): string | undefined {
  return whyNoClient('python3-openstackclient', OPENSTACK)
}

/** Debian's `openstack` as an operator or user of a cloud runs it. */
export class OpenstackCli {
  readonly #env: Settings

  constructor(endpoint: string, account: Account, authPath = '/identity/v3') {
    this.#env = clientSettings(endpoint + authPath, account)
  }

  /** What the command prints; throws with what it said when it fails. The line is split at blanks. */
  run(line: string): Promise<string> {
    return runClient(OPENSTACK, line.split(' '), this.#env)
  }

  /** What the command answers in JSON: a row, or all rows. */
  async json<T = Readonly<Record<string, unknown>>>(line: string): Promise<T> {
    return JSON.parse(await this.run(`${line} -f json`)) as T
  }
}
