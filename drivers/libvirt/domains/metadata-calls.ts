import { isFailure } from '#common/errors.ts'
import { WEIR_NAMESPACE } from '../ownership.ts'
import type { DomainRef } from '../rpc/domain-ref.ts'
import { PROCEDURES } from '../rpc/procedures.ts'
import { XdrWriter } from '../rpc/xdr-writer.ts'
import type { LibvirtSession } from '../session.ts'

/** virDomainMetadataType: an XML element of an application's own. */
const ELEMENT = 2
const PREFIX = 'weir'
/** virDomainModificationImpact. */
const AFFECT_LIVE = 1
const AFFECT_CONFIG = 2

/** libvirt's calls about Weir's own metadata element of a domain, typed. */
export function metadataCalls(session: LibvirtSession) {
  return {
    /** The element as XML; undefined when the domain has none. */
    async metadata(domain: DomainRef, signal: AbortSignal): Promise<string | undefined> {
      const args = new XdrWriter().domain(domain).int(ELEMENT).optionalText(WEIR_NAMESPACE).uint(0)
      try {
        return (await session.call(PROCEDURES.domainGetMetadata, args, signal)).text()
      } catch (error) {
        if (isFailure(error, 'not-found')) return undefined
        throw error
      }
    },
    /**
     * Afterwards it is the element, also when the domain starts again; null: there is none. Throws `conflict` for a
     * domain that is not kept.
     */
    async setMetadata(domain: DomainRef, xml: string | null, signal: AbortSignal): Promise<void> {
      const args = new XdrWriter()
        .domain(domain)
        .int(ELEMENT)
        .optionalText(xml)
        .optionalText(PREFIX)
        .optionalText(WEIR_NAMESPACE)
        .uint(domain.id < 0 ? AFFECT_CONFIG : AFFECT_CONFIG | AFFECT_LIVE)
      await session.call(PROCEDURES.domainSetMetadata, args, signal)
    },
  }
}
