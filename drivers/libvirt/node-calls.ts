import { isFailure } from '#common/errors.ts'
import type { VirtType } from './domains/domain-xml.ts'
import { PROCEDURES, type Procedure } from './rpc/procedures.ts'
import { XdrWriter } from './rpc/xdr-writer.ts'
import type { LibvirtSession } from './session.ts'

/** virNodeGetCPUStats, virNodeGetMemoryStats: of the whole machine, not of one CPU or NUMA cell. */
const WHOLE = -1
const MODEL_BYTES = 32
/** VIR_CONNECT_LIST_NODE_DEVICES_CAP_PCI_DEV */
const PCI_DEVICES = 2

export interface NodeInfo {
  readonly cpus: number
  readonly mhz: number
  readonly sockets: number
  readonly cores: number
  readonly threads: number
}

/** libvirt's calls about the machine itself, typed. */
export function nodeCalls(session: LibvirtSession) {
  const none = () => new XdrWriter()
  const statistics = async (
    procedure: Procedure,
    args: (count: number) => XdrWriter,
    signal: AbortSignal,
  ) => {
    // The daemon requires the number of statistics in the request; a request for none is answered with that number.
    const ask = async (count: number) => {
      const answer = await session.call(procedure, args(count).uint(0), signal)
      const stats = answer.list((reader) => [reader.text(), reader.roundedUlong()] as const)
      return { stats, count: answer.int() }
    }
    return new Map((await ask((await ask(0)).count)).stats)
  }
  return {
    async info(signal: AbortSignal): Promise<NodeInfo> {
      const answer = await session.call(PROCEDURES.nodeGetInfo, none(), signal)
      // `char model[32]` goes as one word for each character.
      for (let index = 0; index < MODEL_BYTES; index++) answer.int()
      answer.ulong() // Memory: wrong where NUMA nodes grow, see memoryKib.
      const numbers = Array.from({ length: 6 }, () => answer.int())
      const [cpus, mhz, , sockets, cores, threads] = numbers as [number, ...number[]]
      return { cpus, mhz: mhz!, sockets: sockets!, cores: cores!, threads: threads! }
    },
    /** Total memory of the machine in KiB. */
    async memoryKib(signal: AbortSignal): Promise<number> {
      const args = (count: number) => none().int(count).int(WHOLE)
      return (await statistics(PROCEDURES.nodeGetMemoryStats, args, signal)).get('total') ?? 0
    },
    /** Nanoseconds since the machine started that its CPUs together were in each state, such as `user`. */
    async cpuTimes(signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
      return statistics(PROCEDURES.nodeGetCpuStats, (count) => none().int(WHOLE).int(count), signal)
    },
    async capabilities(signal: AbortSignal): Promise<string> {
      return (await session.call(PROCEDURES.connectGetCapabilities, none(), signal)).text()
    },
    /** What guests of the kind can have, as XML. */
    async domainCapabilities(virtType: VirtType, signal: AbortSignal): Promise<string> {
      const args = none().optionalText(null).optionalText('x86_64').optionalText('pc')
      args.optionalText(virtType).uint(0)
      return (await session.call(PROCEDURES.connectGetDomainCapabilities, args, signal)).text()
    },
    /** Each PCI device of the machine, as XML. */
    async pciDevices(signal: AbortSignal): Promise<readonly string[]> {
      const args = none().int(1).uint(PCI_DEVICES)
      const answer = await session.call(PROCEDURES.connectListAllNodeDevices, args, signal)
      const found: string[] = []
      for (const name of answer.list((reader) => reader.text())) {
        const device = none().text(name).uint(0)
        // `not-found`: it went between the two calls.
        const described = await session
          .call(PROCEDURES.nodeDeviceGetXmlDesc, device, signal)
          .catch(ignoreNotFound)
        if (described !== undefined) found.push(described.text())
      }
      return found
    },
    async hostname(signal: AbortSignal): Promise<string> {
      return (await session.call(PROCEDURES.connectGetHostname, none(), signal)).text()
    },
    /** Of the hypervisor: major * 1000000 + minor * 1000 + micro. */
    async hypervisorVersion(signal: AbortSignal): Promise<number> {
      return (await session.call(PROCEDURES.connectGetVersion, none(), signal)).ulong()
    },
  }
}

function ignoreNotFound(error: unknown): undefined {
  if (!isFailure(error, 'not-found')) throw error
}
