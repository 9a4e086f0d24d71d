import { isFailure } from '#common/errors.ts'
import { PROCEDURES } from '../rpc/procedures.ts'
import type { PoolRef } from '../rpc/refs.ts'
import { uuidBytes } from '../rpc/uuid-bytes.ts'
import { XdrWriter } from '../rpc/xdr-writer.ts'
import type { LibvirtSession } from '../session.ts'
import type { PoolSessions } from './pool-sessions.ts'

/** virStoragePoolState. */
const RUNNING = 2
/** virSecretUsageType. */
const USAGES = { ceph: 2, iscsi: 3 } as const

/** How a pool's definition names a secret of the daemon. */
export type SecretName = { readonly uuid: string } | { readonly usage: string }

/** libvirt's calls about storage pools, typed. */
export function poolCalls(session: LibvirtSession, pools: Pick<PoolSessions, 'of'>) {
  const onPool = (pool: PoolRef) => new XdrWriter().pool(pool)
  const call = ({ name }: PoolRef, ...asked: Parameters<LibvirtSession['call']>) =>
    pools.of(name).call(...asked)
  return {
    async find(name: string, signal: AbortSignal): Promise<PoolRef | undefined> {
      const args = new XdrWriter().text(name)
      try {
        return (await pools.of(name).call(PROCEDURES.storagePoolLookupByName, args, signal)).pool()
      } catch (error) {
        if (isFailure(error, 'not-found')) return undefined
        throw error
      }
    },
    async define(xml: string, signal: AbortSignal): Promise<PoolRef> {
      const args = new XdrWriter().text(xml).uint(0)
      return (await session.call(PROCEDURES.storagePoolDefineXml, args, signal)).pool()
    },
    async xml(pool: PoolRef, signal: AbortSignal): Promise<string> {
      const args = onPool(pool).uint(0)
      return (await call(pool, PROCEDURES.storagePoolGetXmlDesc, args, signal)).text()
    },
    async isActive(pool: PoolRef, signal: AbortSignal): Promise<boolean> {
      return (
        (await call(pool, PROCEDURES.storagePoolGetInfo, onPool(pool), signal)).int() === RUNNING
      )
    },
    /** A pool of a network file system is mounted. */
    async start(pool: PoolRef, signal: AbortSignal): Promise<void> {
      await call(pool, PROCEDURES.storagePoolCreate, onPool(pool).uint(0), signal)
    },
    /** The key of a user of Ceph, as a secret of the daemon has it, which may not be private. */
    cephKey: (secret: SecretName, signal: AbortSignal) => secretValue(secret, USAGES.ceph, signal),
    /** The password of a user of an iSCSI target, in the same way. */
    iscsiPassword: (secret: SecretName, signal: AbortSignal) =>
      secretValue(secret, USAGES.iscsi, signal),
  }

  async function secretValue(
    secret: SecretName,
    usage: number,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const found =
      'uuid' in secret
        ? await session.call(
            PROCEDURES.secretLookupByUuid,
            new XdrWriter().uuid(uuidBytes(secret.uuid)),
            signal,
          )
        : await session.call(
            PROCEDURES.secretLookupByUsage,
            new XdrWriter().int(usage).text(secret.usage),
            signal,
          )
    const ref = new XdrWriter().uuid(found.fixed(16)).int(found.int()).text(found.text())
    const answer = await session.call(PROCEDURES.secretGetValue, ref.uint(0), signal)
    return answer.fixed(answer.uint())
  }
}
export type PoolCalls = ReturnType<typeof poolCalls>
