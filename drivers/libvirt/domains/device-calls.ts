import { PROCEDURES } from '../rpc/procedures.ts'
import type { DomainRef } from '../rpc/refs.ts'
import { XdrWriter } from '../rpc/xdr-writer.ts'
import type { LibvirtSession } from '../session.ts'

/** virDomainModificationImpact. */
const AFFECT_LIVE = 1
const AFFECT_CONFIG = 2
/** virDomainXMLFlags. */
const XML_MIGRATABLE = 8
/** virDomainStatsTypes: all that the daemon knows of. */
const ALL_FIGURES = 0

/** libvirt's calls about the devices of a domain, typed. */
export function deviceCalls(session: LibvirtSession, slow: LibvirtSession) {
  const onDomain = (domain: DomainRef) => new XdrWriter().domain(domain)
  return {
    /** The domain with its devices: as the guest has them now, or as it is stored while there is none. */
    async xml(domain: DomainRef, signal: AbortSignal): Promise<string> {
      const args = onDomain(domain).uint(0)
      return (await session.call(PROCEDURES.domainGetXmlDesc, args, signal)).text()
    },
    /** The domain as another host can take it over: with every address its devices have now. */
    async migratableXml(domain: DomainRef, signal: AbortSignal): Promise<string> {
      const args = onDomain(domain).uint(XML_MIGRATABLE)
      return (await session.call(PROCEDURES.domainGetXmlDesc, args, signal)).text()
    },
    /** The figures of a domain by libvirt's names, such as `cpu.time` and `net.0.rx.bytes`. */
    async figures(
      domain: DomainRef,
      signal: AbortSignal,
    ): Promise<ReadonlyMap<string, number | string>> {
      const args = new XdrWriter().uint(1).domain(domain).uint(ALL_FIGURES).uint(0)
      const answer = await session.call(PROCEDURES.connectGetAllDomainStats, args, signal)
      const [figures] = answer.list((reader) => {
        reader.domain()
        return reader.parameters()
      })
      return figures ?? new Map()
    },
    /** Asks the agent in the guest. Throws `conflict` when none answers or the guest is off. */
    async setUserPassword(
      domain: DomainRef,
      { user, password }: { readonly user: string; readonly password: string },
      signal: AbortSignal,
    ): Promise<void> {
      const args = onDomain(domain).optionalText(user).optionalText(password).uint(0)
      await slow.call(PROCEDURES.domainSetUserPassword, args, signal)
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
    /** A running guest has to release the device, which takes time. */
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
