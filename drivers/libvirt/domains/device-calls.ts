import type { DomainRef } from '../rpc/domain-ref.ts'
import { PROCEDURES } from '../rpc/procedures.ts'
import { XdrWriter } from '../rpc/xdr-writer.ts'
import type { LibvirtSession } from '../session.ts'

/** virDomainModificationImpact. */
const AFFECT_LIVE = 1
const AFFECT_CONFIG = 2

/** libvirt's calls about the devices of a domain, typed. */
export function deviceCalls(session: LibvirtSession, slow: LibvirtSession) {
  const onDomain = (domain: DomainRef) => new XdrWriter().domain(domain)
  return {
    /** The domain with its devices: as the guest has them now, or as it is stored while there is none. */
    async xml(domain: DomainRef, signal: AbortSignal): Promise<string> {
      const args = onDomain(domain).uint(0)
      return (await session.call(PROCEDURES.domainGetXmlDesc, args, signal)).text()
    },
    /** For the next starts, and at once where the guest is live. */
    async attach(
      domain: DomainRef,
      xml: string,
      { isLive }: { readonly isLive: boolean },
      signal: AbortSignal,
    ): Promise<void> {
      const flags = isLive ? AFFECT_LIVE | AFFECT_CONFIG : AFFECT_CONFIG
      const args = onDomain(domain).text(xml).uint(flags)
      await slow.call(PROCEDURES.domainAttachDeviceFlags, args, signal)
    },
    /** A guest that runs is asked to let go of it, and takes its time. */
    async detach(
      domain: DomainRef,
      xml: string,
      from: 'guest' | 'definition',
      signal: AbortSignal,
    ): Promise<void> {
      const flags = from === 'guest' ? AFFECT_LIVE : AFFECT_CONFIG
      const args = onDomain(domain).text(xml).uint(flags)
      await slow.call(PROCEDURES.domainDetachDeviceFlags, args, signal)
    },
  }
}
export type DeviceCalls = ReturnType<typeof deviceCalls>
