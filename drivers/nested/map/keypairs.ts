import { isFailure } from '#common/errors.ts'
import type { Owner } from '../../driver.ts'
import type { KeypairSpec } from '../../guest-config.ts'
import { KeyedLock } from '../../keyed-lock.ts'
import type { Cloud } from '../cloud/cloud.ts'
import type { ComputeVersions } from '../compute/compute-versions.ts'
import { keypairName } from '../names.ts'

/** Our users' keys in the nested cloud: each there once, however many servers have it. */
export class Keypairs {
  readonly #cloud: Cloud
  readonly #versions: ComputeVersions
  readonly #owner: Owner
  readonly #lock = new KeyedLock<string>()

  constructor(cloud: Cloud, versions: ComputeVersions, owner: Owner) {
    this.#cloud = cloud
    this.#versions = versions
    this.#owner = owner
  }

  nameOf({ publicKey }: KeypairSpec): string {
    return keypairName(this.#owner, publicKey)
  }

  /** Afterwards the key is in the cloud. Throws `invalid`, `unsupported` when the cloud does not take it. */
  async ensure(keypair: KeypairSpec, signal: AbortSignal): Promise<void> {
    const name = this.nameOf(keypair)
    await this.#lock.run(name, signal, async () => {
      const isSsh = keypair.type === 'ssh'
      const microversion = isSsh
        ? undefined
        : await this.#versions.need('2.2', `a key of type ${keypair.type}`, signal)
      const type = isSsh ? {} : { type: keypair.type }
      const body = { keypair: { name, public_key: keypair.publicKey, ...type } }
      try {
        await this.#cloud.call('compute', 'POST', '/os-keypairs', { body, microversion, signal })
      } catch (error) {
        // Its name says what it is, so one of that name is it.
        if (!isFailure(error, 'conflict')) throw error
      }
    })
  }

  /** Afterwards the key is not in the cloud, unless `isUsed` says so. */
  async release(name: string, isUsed: () => boolean, signal: AbortSignal): Promise<void> {
    await this.#lock.run(name, signal, async () => {
      if (isUsed()) return
      await this.#cloud
        .call('compute', 'DELETE', `/os-keypairs/${name}`, { signal })
        .catch((error: unknown) => {
          if (!isFailure(error, 'not-found')) throw error
        })
    })
  }
}
