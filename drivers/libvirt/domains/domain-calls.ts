import { isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { WEIR_NAMESPACE } from '../ownership.ts'
import { PROCEDURES, type Procedure } from '../rpc/procedures.ts'
import type { DomainRef } from '../rpc/refs.ts'
import { uuidBytes } from '../rpc/uuid-bytes.ts'
import { XdrWriter } from '../rpc/xdr-writer.ts'
import type { LibvirtSession } from '../session.ts'
import { domainName } from './domain-name.ts'
import type { DomainState } from './power-state.ts'

/** virDomainShutdownFlagValues: press the ACPI power button. */
const SHUTDOWN_ACPI = 1
/** virDomainUndefineFlagsValues: managed save, snapshots and checkpoints go too; what NVRAM there is lies with its disks. */
const UNDEFINE_ALL = 1 | 2 | 8 | 16
/** The same, but refused for a domain with a managed save, which would be lost. */
const UNDEFINE_UNSAVED = 2 | 8 | 16
/** virDomainXMLFlags: as the domain is stored, with its passwords. */
const XML_STORED = 1 | 2

/**
 * libvirt's calls about domains, typed. A domain that is absent is undefined or `not-found`, never an error text.
 * What takes a second goes over `slow`, so that looking never waits for doing.
 */
export function domainCalls(session: LibvirtSession, slow: LibvirtSession) {
  const onDomain = (domain: DomainRef) => new XdrWriter().domain(domain)
  const lookUp = async (procedure: Procedure, args: XdrWriter, signal: AbortSignal) => {
    try {
      return (await session.call(procedure, args, signal)).domain()
    } catch (error) {
      if (isFailure(error, 'not-found')) return undefined
      throw error
    }
  }
  const define = async (xml: string, signal: AbortSignal): Promise<DomainRef> => {
    const args = new XdrWriter().text(xml).uint(0)
    return (await session.call(PROCEDURES.domainDefineXmlFlags, args, signal)).domain()
  }
  return {
    find(id: InstanceId, signal: AbortSignal): Promise<DomainRef | undefined> {
      const args = new XdrWriter().uuid(uuidBytes(id))
      return lookUp(PROCEDURES.domainLookupByUuid, args, signal)
    },
    /** The domain that has the name of an instance's, whosever it is. */
    findNamed(id: InstanceId, signal: AbortSignal): Promise<DomainRef | undefined> {
      const args = new XdrWriter().text(domainName(id))
      return lookUp(PROCEDURES.domainLookupByName, args, signal)
    },
    async list(signal: AbortSignal): Promise<readonly DomainRef[]> {
      const args = new XdrWriter().int(1).uint(0)
      const answer = await session.call(PROCEDURES.connectListAllDomains, args, signal)
      return answer.list((reader) => reader.domain())
    },
    async state(domain: DomainRef, signal: AbortSignal): Promise<DomainState> {
      const args = onDomain(domain).uint(0)
      const answer = await session.call(PROCEDURES.domainGetState, args, signal)
      return { state: answer.int(), reason: answer.int() }
    },
    define,
    async start(domain: DomainRef, signal: AbortSignal): Promise<void> {
      const args = onDomain(domain).uint(0)
      await slow.call(PROCEDURES.domainCreateWithFlags, args, signal)
    },
    async pressPowerButton(domain: DomainRef, signal: AbortSignal): Promise<void> {
      const args = onDomain(domain).uint(SHUTDOWN_ACPI)
      await session.call(PROCEDURES.domainShutdownFlags, args, signal)
    },
    /** Cuts the power, without notice to the guest. */
    async cut(domain: DomainRef, signal: AbortSignal): Promise<void> {
      await slow.call(PROCEDURES.domainDestroyFlags, onDomain(domain).uint(0), signal)
    },
    async undefine(domain: DomainRef, signal: AbortSignal): Promise<void> {
      const args = onDomain(domain).uint(UNDEFINE_ALL)
      await session.call(PROCEDURES.domainUndefineFlags, args, signal)
    },
    /** Afterwards the domain, which is off, is as it was, and the daemon has forgotten all else about it, such as a job. */
    async renew(domain: DomainRef, signal: AbortSignal): Promise<DomainRef> {
      const described = onDomain(domain).uint(XML_STORED)
      const xml = (await session.call(PROCEDURES.domainGetXmlDesc, described, signal)).text()
      const args = onDomain(domain).uint(UNDEFINE_UNSAVED)
      await session.call(PROCEDURES.domainUndefineFlags, args, signal)
      return define(xml, signal)
    },
    async suspend(domain: DomainRef, signal: AbortSignal): Promise<void> {
      await session.call(PROCEDURES.domainSuspend, onDomain(domain), signal)
    },
    async resume(domain: DomainRef, signal: AbortSignal): Promise<void> {
      await session.call(PROCEDURES.domainResume, onDomain(domain), signal)
    },
    ...metadataCalls(session),
    ...memoryCalls(session, slow),
  }
}
export type DomainCalls = ReturnType<typeof domainCalls>

/** libvirt's calls about what a domain has in memory. */
function memoryCalls(session: LibvirtSession, slow: LibvirtSession) {
  const onDomain = (domain: DomainRef) => new XdrWriter().domain(domain)
  return {
    /** Writes the guest's memory to disk and ends the guest; its next start resumes from there. */
    async save(domain: DomainRef, signal: AbortSignal): Promise<void> {
      await slow.call(PROCEDURES.domainManagedSave, onDomain(domain).uint(0), signal)
    },
    async isSaved(domain: DomainRef, signal: AbortSignal): Promise<boolean> {
      const args = onDomain(domain).uint(0)
      return (await session.call(PROCEDURES.domainHasManagedSave, args, signal)).int() === 1
    },
    /** Forgets memory that was saved: the next start is a boot. */
    async forgetSaved(domain: DomainRef, signal: AbortSignal): Promise<void> {
      await session.call(PROCEDURES.domainManagedSaveRemove, onDomain(domain).uint(0), signal)
    },
    async injectNmi(domain: DomainRef, signal: AbortSignal): Promise<void> {
      await session.call(PROCEDURES.domainInjectNmi, onDomain(domain).uint(0), signal)
    },
  }
}

/** virDomainMetadataType: an XML element of an application's own. */
const ELEMENT = 2
const PREFIX = 'weir'
/** Of what says that a guest is paused because its user wants that. It ends with the guest. */
const PAUSE_NAMESPACE = 'urn:weir:libvirt:pause:1'
const PAUSE_PREFIX = 'weir-pause'
/** virDomainModificationImpact. */
const AFFECT_LIVE = 1
const AFFECT_CONFIG = 2

/** libvirt's calls about Weir's own metadata element of a domain, typed. */
function metadataCalls(session: LibvirtSession) {
  const read = async (domain: DomainRef, namespace: string, signal: AbortSignal) => {
    const args = new XdrWriter().domain(domain).int(ELEMENT).optionalText(namespace).uint(0)
    try {
      return (await session.call(PROCEDURES.domainGetMetadata, args, signal)).text()
    } catch (error) {
      if (isFailure(error, 'not-found')) return undefined
      throw error
    }
  }
  return {
    /** The element as XML; undefined when the domain has none. */
    metadata(domain: DomainRef, signal: AbortSignal): Promise<string | undefined> {
      return read(domain, WEIR_NAMESPACE, signal)
    },
    /** Whether its user wants the guest paused, which QEMU had paused already. */
    async isHeld(domain: DomainRef, signal: AbortSignal): Promise<boolean> {
      return (await read(domain, PAUSE_NAMESPACE, signal)) !== undefined
    },
    async setHeld(domain: DomainRef, isHeld: boolean, signal: AbortSignal): Promise<void> {
      const args = new XdrWriter()
        .domain(domain)
        .int(ELEMENT)
        .optionalText(isHeld ? '<by-user/>' : null)
        .optionalText(PAUSE_PREFIX)
        .optionalText(PAUSE_NAMESPACE)
        .uint(AFFECT_LIVE)
      await session.call(PROCEDURES.domainSetMetadata, args, signal)
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
