import { Type } from 'typebox'
import { isOlder } from '../api-version.ts'
import type { HostInventory } from '../driver.ts'
import { ROOT_RESCUE_SINCE } from './compute/compute-versions.ts'
import type { NestedHost } from './host.ts'

/** Of what `GET /limits` answers, what the driver reads. -1: no limit. */
const Limits = Type.Object({
  limits: Type.Object({
    absolute: Type.Object({
      maxTotalCores: Type.Number(),
      totalCoresUsed: Type.Number(),
      maxTotalRAMSize: Type.Number(),
      totalRAMUsed: Type.Number(),
      maxTotalInstances: Type.Optional(Type.Number()),
      totalInstancesUsed: Type.Optional(Type.Number()),
    }),
  }),
})

const TRAITS: Readonly<Record<string, string>> = {
  qcow2: 'COMPUTE_IMAGE_TYPE_QCOW2',
  raw: 'COMPUTE_IMAGE_TYPE_RAW',
}

/**
 * The room that the project's limits leave for our servers, within the operator's share: the usage of others there is
 * deducted.
 */
export async function inventory(host: NestedHost, signal: AbortSignal): Promise<HostInventory> {
  const { cloud, outsides, settings, versions, view } = host
  const { body } = await cloud.ask(Limits, 'compute', 'GET', '/limits', { signal })
  const newest = await versions.newest(signal)
  const { projectId } = await cloud.access(signal)
  const { absolute } = body.limits
  const ours = view.all().map(({ flavor }) => flavor)
  const sum = (amounts: readonly (number | undefined)[]) =>
    amounts.reduce<number>((total, amount = 0) => total + amount, 0)
  const usedVcpus = absolute.totalCoresUsed - sum(ours.map(({ vcpus }) => vcpus))
  const usedMb = absolute.totalRAMUsed - sum(ours.map(({ ram }) => ram))
  const { maxTotalInstances = -1, totalInstancesUsed = 0 } = absolute
  const instancesOfOthers = Math.max(0, totalInstancesUsed - ours.length)
  const vcpus = left(absolute.maxTotalCores, usedVcpus, settings.vcpus)
  return {
    vcpus,
    memoryMb: left(absolute.maxTotalRAMSize, usedMb, settings.memoryMb),
    diskGb: settings.diskGb,
    isQuota: true,
    hasOwnFlavors: true,
    ...(maxTotalInstances >= 0 && {
      instancesMax: Math.max(0, maxTotalInstances - instancesOfOthers),
    }),
    resources: Object.fromEntries(settings.resources),
    ...(await outsides.report(signal)),
    hypervisor: {
      type: settings.hypervisorType,
      version: versionNumber(newest),
      // A cloud may be the host of several cells, each with a project of its own.
      hostname: `${projectId}@${new URL(settings.authUrl).hostname}`,
    },
    architecture: settings.architecture,
    cpu: {
      vendor: '',
      model: '',
      features: [],
      topology: { sockets: 1, cores: vcpus, threads: 1 },
    },
    imageFormats: settings.imageFormats,
    traits: [
      'COMPUTE_NODE',
      ...(isOlder(newest, ROOT_RESCUE_SINCE) ? [] : ['COMPUTE_RESCUE_BFV']),
      ...settings.imageFormats.flatMap((format) => TRAITS[format] ?? []),
    ],
  }
}

function left(limit: number, usedByOthers: number, share: number): number {
  return limit < 0 ? share : Math.max(0, Math.min(limit - Math.max(0, usedByOthers), share))
}

/** As libvirt counts versions: 2.96 is 2096000. */
function versionNumber(microversion: string): number {
  const [major = 0, minor = 0] = microversion.split('.').map(Number)
  return major * 1_000_000 + minor * 1_000
}
