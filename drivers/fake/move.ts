import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { LiveMove, Move } from '../move.ts'
import { type FakeGuest, withEvent } from './guest.ts'
import type { FakeHost } from './host.ts'
import { onNodes, refuseShrinking, withFlavor } from './resize.ts'
import { spawn } from './spawn.ts'
import { refuseOtherStores, reopenVolumes, withVolumesHere } from './volumes.ts'

const MIB = 1024 ** 2
/** The whole content of a simulated guest. */
const GUEST_FILE = 'guest'

export function fakeMove(host: FakeHost): Move {
  return {
    pack: (id, _graceMs, signal) =>
      host.changeSlowly('pack', id, signal, () => host.setPower(id, 'shutdown', 'packed')),
    unpack: (id, runs, signal) =>
      host.change('unpack', id, signal, () => {
        reopenVolumes(host, host.guests.get(id))
        if (runs) host.setPower(id, 'running', 'powered on')
      }),
    files: async (id) => [{ name: GUEST_FILE, sizeBytes: contentOf(host, id).length }],
    read: (id, { name, offset, maxBytes }, signal) =>
      host.faulty('readFile', host.target(id), signal, () => {
        refuseUnknown(name)
        return contentOf(host, id).subarray(offset, offset + maxBytes)
      }),
    write: (id, { name, offset }, bytes, signal) =>
      host.faulty('writeFile', host.target(id), signal, () => {
        refuseUnknown(name)
        const before = host.incoming.get(id)?.subarray(0, offset) ?? Buffer.alloc(0)
        host.incoming.set(id, Buffer.concat([before, bytes]))
      }),
    async arrive(spec, runs, signal) {
      await refuseOtherStores(host, spec)
      await host.changeSlowly('arrive', spec.id, signal, () => {
        if (host.guests.find(spec.id) === undefined) {
          const came = withoutPast(guestThatCame(host, spec.id))
          refuseShrinking(came.flavor, spec.flavor, spec)
          const here = withVolumesHere(host, withFlavor(host, came, spec), spec)
          host.guests.put(withEvent(here, 'shutdown', 'arrived'))
          host.incoming.delete(spec.id)
        }
        if (runs) host.setPower(spec.id, 'running', 'powered on')
      })
    },
    async evacuate(spec, { runs }, signal) {
      await spawn(host, spec, signal)
      if (!runs) host.setPower(spec.id, 'shutdown', 'powered off')
    },
  }
}

/** The guest travels as a file and keeps its state. */
export function fakeLiveMove(host: FakeHost): LiveMove {
  return {
    announce: (id, signal) =>
      host.faulty('announce', host.target(id), signal, () => {
        const { powerState } = host.guests.get(id)
        if (powerState === 'running' || powerState === 'paused') return ''
        throw new Failure('conflict', `Instance ${id} is not running.`)
      }),
    async expect(spec, _announced, signal) {
      await refuseOtherStores(host, spec)
      return host.faulty('expect', host.target(spec.id), signal, () => '')
    },
    async send(id, _expected, signal) {
      const calledOff = new AbortController()
      host.leaving.set(id, calledOff)
      try {
        const either = AbortSignal.any([signal, calledOff.signal])
        await host.changeSlowly('send', id, either, () =>
          host.guests.put(withEvent(host.guests.get(id), 'shutdown', 'left')),
        )
      } finally {
        host.leaving.delete(id)
      }
    },
    finish: (spec, runs, signal) =>
      host.change('finish', spec.id, signal, () => {
        if (host.guests.find(spec.id) !== undefined) return
        const came = withVolumesHere(host, onNodes(host, guestThatCame(host, spec.id), spec), spec)
        host.guests.put(withEvent(came, runs ? 'running' : 'paused', 'live-migrated'))
        host.incoming.delete(spec.id)
      }),
    end: async (id, how) => {
      if (how === 'complete') return
      host.leaving.get(id)?.abort(new Failure('conflict', 'The move was cancelled.'))
    },
    progress: async (id) => {
      if (!host.leaving.has(id)) throw new Failure('conflict', `Instance ${id} is not leaving.`)
      const total = host.guests.get(id).flavor.memoryMb * MIB
      return { memory: { total, processed: 0, remaining: total }, disks: null }
    },
  }
}

function contentOf(host: FakeHost, id: InstanceId): Buffer {
  return Buffer.from(JSON.stringify(host.guests.get(id)), 'utf8')
}

function refuseUnknown(name: string): void {
  if (name !== GUEST_FILE) throw new Failure('invalid', `A guest has no file ${name}.`)
}

function guestThatCame(host: FakeHost, id: InstanceId): FakeGuest {
  const bytes = host.incoming.get(id)
  if (bytes === undefined)
    throw new Failure('not-found', `No outcome is known yet for instance ${id}.`)
  return JSON.parse(bytes.toString('utf8')) as FakeGuest
}

/** The flavor before a resize belongs to the former host, and stays there. */
function withoutPast(guest: FakeGuest): FakeGuest {
  const { flavorBefore: _before, ...rest } = guest
  return rest
}
