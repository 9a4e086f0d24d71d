import { isFailure } from '#common/errors.ts'
import type { VolumeId } from '#common/ids.ts'
import type { KeyPlace } from '../../../keyring.ts'
import { PROCEDURES } from '../../rpc/procedures.ts'
import { uuidBytes } from '../../rpc/uuid-bytes.ts'
import { XdrWriter } from '../../rpc/xdr-writer.ts'
import type { LibvirtSession } from '../../session.ts'
import { element, renderXml } from '../../xml/element.ts'

/** virSecretUsageType. */
const VOLUME = 1

/** libvirt's calls about the secrets with which it opens encrypted volumes, typed. A volume's secret has the id of the volume. */
export function secretCalls(session: LibvirtSession): KeyPlace {
  const onSecret = (id: VolumeId) =>
    new XdrWriter().uuid(uuidBytes(id)).int(VOLUME).text(usageOf(id))
  return {
    /** The daemon tells the key to no client. */
    async keep(id: VolumeId, key: string, signal: AbortSignal): Promise<void> {
      const define = new XdrWriter().text(secretXml(id)).uint(0)
      await session.call(PROCEDURES.secretDefineXml, define, signal)
      await session.call(PROCEDURES.secretSetValue, onSecret(id).text(key).uint(0), signal)
    },
    async forget(id: VolumeId, signal: AbortSignal): Promise<void> {
      await session
        .call(PROCEDURES.secretUndefine, onSecret(id), signal)
        .catch((error: unknown) => {
          if (!isFailure(error, 'not-found')) throw error
        })
    },
  }
}
function usageOf(id: VolumeId): string {
  return `weir-${id}`
}

function secretXml(id: VolumeId): string {
  const usage = element('usage', { type: 'volume' }, element('volume', {}, usageOf(id)))
  const attributes = { ephemeral: 'yes', private: 'yes' }
  return renderXml(element('secret', attributes, element('uuid', {}, id), usage))
}
