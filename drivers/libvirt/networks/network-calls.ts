import { isFailure } from '#common/errors.ts'
import { PROCEDURES } from '../rpc/procedures.ts'
import type { NetworkRef } from '../rpc/refs.ts'
import { uuidBytes } from '../rpc/uuid-bytes.ts'
import { XdrWriter } from '../rpc/xdr-writer.ts'
import type { LibvirtSession } from '../session.ts'

/** virNetworkUpdateSection and flags (include/libvirt/libvirt-network.h). */
const SECTION_DHCP_HOST = 4
const AFFECT_LIVE_AND_CONFIG = 1 | 2
const COMMANDS = { delete: 2, 'add-last': 3 } as const

/** libvirt's calls about one network, typed. */
export function networkCalls(session: LibvirtSession) {
  const onNetwork = (network: NetworkRef) => new XdrWriter().network(network)
  return {
    async find(uuid: string, signal: AbortSignal): Promise<NetworkRef | undefined> {
      const args = new XdrWriter().uuid(uuidBytes(uuid))
      try {
        return (await session.call(PROCEDURES.networkLookupByUuid, args, signal)).network()
      } catch (error) {
        if (isFailure(error, 'not-found')) return undefined
        throw error
      }
    },
    async define(xml: string, signal: AbortSignal): Promise<NetworkRef> {
      const args = new XdrWriter().text(xml)
      return (await session.call(PROCEDURES.networkDefineXml, args, signal)).network()
    },
    async xml(network: NetworkRef, signal: AbortSignal): Promise<string> {
      const args = onNetwork(network).uint(0)
      return (await session.call(PROCEDURES.networkGetXmlDesc, args, signal)).text()
    },
    async isActive(network: NetworkRef, signal: AbortSignal): Promise<boolean> {
      const answer = await session.call(PROCEDURES.networkIsActive, onNetwork(network), signal)
      return answer.int() === 1
    },
    async start(network: NetworkRef, signal: AbortSignal): Promise<void> {
      await session.call(PROCEDURES.networkCreate, onNetwork(network), signal)
    },
    async stop(network: NetworkRef, signal: AbortSignal): Promise<void> {
      await session.call(PROCEDURES.networkDestroy, onNetwork(network), signal)
    },
    async undefine(network: NetworkRef, signal: AbortSignal): Promise<void> {
      await session.call(PROCEDURES.networkUndefine, onNetwork(network), signal)
    },
    /** Changes the DHCP entries of an active network, now and for its next start. */
    async updateDhcpHost(
      network: NetworkRef,
      command: keyof typeof COMMANDS,
      hostXml: string,
      signal: AbortSignal,
    ): Promise<void> {
      const args = onNetwork(network)
        .uint(COMMANDS[command])
        .uint(SECTION_DHCP_HOST)
        .int(-1)
        .text(hostXml)
        .uint(AFFECT_LIVE_AND_CONFIG)
      await session.call(PROCEDURES.networkUpdate, args, signal)
    },
  }
}
export type NetworkCalls = ReturnType<typeof networkCalls>
