import { Failure } from '#common/errors.ts'
import type { FlavorSpec, InstanceSpec, Resize } from '../driver.ts'
import { startsFromVolume } from '../volumes.ts'
import { type FakeGuest, withEvent } from './guest.ts'
import type { FakeHost } from './host.ts'
import { placedOnNodes } from './host-nodes.ts'
import { hardwareOf } from './spawn.ts'

export function fakeResize(host: FakeHost): Resize {
  return {
    resize: (spec, { runs }, signal) =>
      host.changeSlowly('resize', spec.id, signal, () => {
        const guest = host.guests.get(spec.id)
        const { flavor, flavorBefore = flavor } = guest
        refuseShrinking(flavor, spec.flavor, guest)
        start(host, { ...withFlavor(host, guest, spec), flavorBefore }, 'resized', runs)
      }),
    confirm: (id, signal) =>
      host.change('confirmResize', id, signal, () => {
        const { flavorBefore: _before, ...guest } = host.guests.get(id)
        host.guests.put(guest)
      }),
    revert: (spec, { runs }, signal) =>
      host.changeSlowly('revertResize', spec.id, signal, () => {
        const { flavorBefore: _before, ...guest } = host.guests.get(spec.id)
        start(host, withFlavor(host, guest, spec), 'resized back', runs)
      }),
  }
}

/** Throws `invalid` for disks that would be smaller, which a volume that the guest starts from never is. */
export function refuseShrinking(
  from: FlavorSpec,
  to: FlavorSpec,
  guest: Parameters<typeof startsFromVolume>[0],
): void {
  const isRootSmaller = !startsFromVolume(guest) && to.rootGb > 0 && to.rootGb < from.rootGb
  if (isRootSmaller || to.ephemeralGb < from.ephemeralGb)
    throw new Failure('invalid', 'Unable to resize disk down.')
}

/** On this host. Its interfaces and config drive stay. */
export function withFlavor(host: FakeHost, guest: FakeGuest, spec: InstanceSpec): FakeGuest {
  const { vcpus, memoryMb, disks } = hardwareOf(spec)
  const hardware = { ...guest.hardware, vcpus, memoryMb, disks }
  return { ...onNodes(host, guest, spec), flavor: spec.flavor, hardware }
}

/** On the NUMA nodes of this host that the spec says. */
export function onNodes(host: FakeHost, guest: FakeGuest, spec: InstanceSpec): FakeGuest {
  const { hostNodes: _elsewhere, ...rest } = guest
  return { ...rest, ...placedOnNodes(host, spec) }
}

function start(host: FakeHost, guest: FakeGuest, what: string, runs: boolean): void {
  const { name, vcpus, memoryMb } = guest.flavor
  const line = `${what} to ${name}: ${vcpus} vcpus, ${memoryMb} MiB`
  host.guests.put(withEvent(guest, runs ? 'running' : 'shutdown', line))
}
