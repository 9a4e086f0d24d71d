import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { InstanceSpec } from '../../driver.ts'
import type { CarriedBytes, LiveMove } from '../../move.ts'
import { createBlank } from '../../qemu-img.ts'
import { diskSizeIfThere } from '../disks/own-disks.ts'
import { backupCalls } from '../domains/backup-calls.ts'
import { getOwnDomain } from '../domains/own-domains.ts'
import { powerStateOf } from '../domains/power-state.ts'
import { filesOf, type LibvirtHost } from '../host.ts'
import { recordOfNew, writeInstanceRecord } from '../instance-record.ts'
import { getInstanceRecord } from '../redefine.ts'
import { existingDomain, hideFiles, orNothing } from '../spawn.ts'
import { expectVolumes, followVolumes } from '../volumes/admit-volumes.ts'
import { locateVolumes } from '../volumes/attach.ts'
import type { AttachedVolume } from '../volumes/volume-device.ts'
import { takeIn } from './arrive.ts'
import { Announced, Expected, parsePeerInfo } from './peer-info.ts'
import { send } from './send.ts'

const LET_RUN_MS = 10_000

/**
 * Carries guests between libvirt hosts while they run, disks included: their daemons reach each other, and trust each
 * other, which is the operator's to see to.
 */
export function libvirtLiveMove(host: LibvirtHost): LiveMove {
  const underway = new Map<InstanceId, AbortController>()
  const frozen = new Set<InstanceId>()
  return {
    announce: (id, signal) => announce(host, id, signal),
    expect: (spec, announced, signal) =>
      host.locks.runPreemptible(spec.id, signal, async (lockSignal) => {
        const attached = await locateVolumes(host, spec, lockSignal)
        await expectGuest(host, spec, attached, parsePeerInfo(Announced, announced), lockSignal)
        const { owner, stateDirectory, peer } = host
        const volumes = Object.fromEntries(attached.map((each) => [each.attachmentId, each.path]))
        const initiators = Object.fromEntries(
          attached.flatMap(({ attachmentId, iscsi }) =>
            iscsi === undefined ? [] : [[attachmentId, iscsi.initiator] as const],
          ),
        )
        return JSON.stringify({
          ...{ ...owner, uri: peer.uri, stateDirectory, volumes, initiators },
        } satisfies Expected)
      }),
    async send(id, expected, signal) {
      const calledOff = new AbortController()
      underway.set(id, calledOff)
      try {
        const either = AbortSignal.any([signal, calledOff.signal])
        await host.locks.runPreemptible(id, either, (lockSignal) =>
          send(host, id, parsePeerInfo(Expected, expected), lockSignal),
        )
      } catch (error) {
        if (frozen.has(id)) await finish(host, id, true, AbortSignal.timeout(LET_RUN_MS))
        throw error
      } finally {
        underway.delete(id)
        frozen.delete(id)
      }
    },
    finish: (spec, runs, signal) =>
      host.locks.run(spec.id, signal, async () => {
        const { volumes = [] } = await getInstanceRecord(host, spec.id)
        await followVolumes(host, volumes, signal)
        await finish(host, spec.id, runs, signal)
      }),
    async end(id, how, signal) {
      const domain = await getOwnDomain(host.domains, host.owner, id, signal)
      if (how === 'complete') {
        // Then it changes nothing any more that would have to be sent again; `finish` lets it run on.
        if (powerStateOf(await host.domains.state(domain, signal)) !== 'running') return
        frozen.add(id)
        return host.domains.suspend(domain, signal)
      }
      const calledOff = underway.get(id)
      if (calledOff === undefined)
        return backupCalls(host.session, host.slowSession).abort(domain, signal)
      calledOff.abort(new Failure('conflict', 'The move was cancelled.'))
    },
    async progress(id, signal) {
      const domain = await getOwnDomain(host.domains, host.owner, id, signal)
      const calls = backupCalls(host.session, host.slowSession)
      const figures = await calls.jobFigures(domain, signal)
      if (figures.size === 0) throw new Failure('conflict', `Instance ${id} is not leaving.`)
      return { memory: carried(figures, 'memory'), disks: carried(figures, 'disk') }
    },
  }
}

/** libvirt: VIR_DOMAIN_JOB_MEMORY_TOTAL and its like. */
function carried(
  figures: ReadonlyMap<string, number | string>,
  what: 'memory' | 'disk',
): CarriedBytes | null {
  const figure = (name: string) => Number(figures.get(`${what}_${name}`) ?? 0)
  if (!figures.has(`${what}_total`)) return null
  const [total, processed, remaining] = ['total', 'processed', 'remaining'].map(figure)
  return { total: total!, processed: processed!, remaining: remaining! }
}

async function announce(host: LibvirtHost, id: InstanceId, signal: AbortSignal): Promise<string> {
  const domain = await getOwnDomain(host.domains, host.owner, id, signal)
  const state = powerStateOf(await host.domains.state(domain, signal))
  if (state !== 'running' && state !== 'paused')
    throw new Failure('conflict', `Instance ${id} is not running.`)
  if (await backupCalls(host.session, host.slowSession).hasLostJob(domain, signal))
    throw new Failure(
      'unsupported',
      'The guest cannot be moved while it runs, because its libvirt was killed as it copied a disk. A hard reboot of the server ends that.',
    )
  if ((await getInstanceRecord(host, id)).placement !== undefined)
    throw new Failure(
      'unsupported',
      'A guest that has CPUs, memory or devices of its host to itself cannot be moved while it runs.',
    )
  const files = filesOf(host, id)
  const [root, ephemeral, swap] = await Promise.all(
    [files.rootDisk, files.ephemeralDisk, files.swapDisk].map(diskSizeIfThere),
  )
  return JSON.stringify({ root, ephemeral, swap } satisfies {
    readonly [name in keyof Announced]: number | undefined
  })
}

async function finish(
  host: LibvirtHost,
  id: InstanceId,
  runs: boolean,
  signal: AbortSignal,
): Promise<void> {
  const domain = await getOwnDomain(host.domains, host.owner, id, signal)
  const state = powerStateOf(await host.domains.state(domain, signal))
  if (runs && state === 'paused') await host.domains.resume(domain, signal)
  if (!runs && state === 'running') await host.domains.suspend(domain, signal)
}

/**
 * Afterwards the guest's disks, empty and as large as it has them, and its networks are here, and its daemon can send
 * the rest; both hosts reach its volumes. The caller holds the instance's lock.
 */
async function expectGuest(
  host: LibvirtHost,
  spec: InstanceSpec,
  volumes: readonly AttachedVolume[],
  { root, ephemeral, swap }: Announced,
  signal: AbortSignal,
): Promise<void> {
  if ((await existingDomain(host, spec, signal)) !== undefined) return
  await orNothing(host, spec, async () => {
    const files = filesOf(host, spec.id)
    const { nics } = spec
    await writeInstanceRecord(files, recordOfNew(spec, volumes))
    await expectVolumes(host, volumes, signal)
    await takeIn(files)
    if (root !== undefined) await createBlank(files.rootDisk, root, signal)
    if (ephemeral !== undefined) await createBlank(files.ephemeralDisk, ephemeral, signal)
    if (swap !== undefined) await createBlank(files.swapDisk, swap, signal)
    await hideFiles(files)
    for (const nic of nics) await host.networks.plug(nic, signal)
  })
}
