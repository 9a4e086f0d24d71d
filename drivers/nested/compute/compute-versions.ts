import { Type } from 'typebox'
import { Failure } from '#common/errors.ts'
import { abortable } from '../../abortable.ts'
import { isOlder } from '../../api-version.ts'
import type { Cloud } from '../cloud/cloud.ts'
import type { Access } from '../cloud/session.ts'

const VersionBody = Type.Object({
  version: Type.Object({ version: Type.Optional(Type.String()) }),
})

const ASK_MS = 60_000

/** A server that starts from a volume can be rescued since then. */
export const ROOT_RESCUE_SINCE = '2.87'

/** Which microversions the cloud's Compute has, asked once per login: it may have been upgraded since. */
export class ComputeVersions {
  readonly #cloud: Cloud
  #known: { readonly access: Access; readonly newest: Promise<string> } | undefined

  constructor(cloud: Cloud) {
    this.#cloud = cloud
  }

  /** The newest microversion; '2.1' or older if the cloud offers no choice. */
  async newest(signal: AbortSignal): Promise<string> {
    const access = await this.#cloud.access(signal)
    if (this.#known?.access !== access)
      this.#known = { access, newest: this.#ask(AbortSignal.timeout(ASK_MS)) }
    const asked = this.#known
    try {
      return await abortable(asked.newest, signal)
    } catch (error) {
      if (this.#known === asked && !signal.aborted) this.#known = undefined
      throw error
    }
  }

  /** The version, if the cloud has it; undefined if not. */
  async ifServed(version: string, signal: AbortSignal): Promise<string | undefined> {
    return isOlder(await this.newest(signal), version) ? undefined : version
  }

  /** Throws `unsupported`, naming both, when the cloud does not have what `what` needs. */
  async need(version: string, what: string, signal: AbortSignal): Promise<string> {
    const newest = await this.newest(signal)
    if (!isOlder(newest, version)) return version
    throw new Failure(
      'unsupported',
      `The nested cloud supports Compute up to ${newest}, and ${what} needs ${version}.`,
    )
  }

  async #ask(signal: AbortSignal): Promise<string> {
    const { body } = await this.#cloud.ask(VersionBody, 'compute', 'GET', '/', { signal })
    const { version = '' } = body.version
    return version === '' ? '2.1' : version
  }
}
