import type { Move } from '../../move.ts'
import type { LibvirtHost } from '../host.ts'
import { arrive } from './arrive.ts'
import { evacuate } from './evacuate.ts'
import { movable, readPart, writePart } from './moved-files.ts'
import { pack, unpack } from './pack.ts'

/** Carries instances to another libvirt host as the files of their disks. */
export function libvirtMove(host: LibvirtHost): Move {
  return {
    pack: (id, graceMs, signal) =>
      host.locks.runPreemptible(id, signal, (lockSignal) => pack(host, id, graceMs, lockSignal)),
    unpack: (id, runs, signal) => host.locks.run(id, signal, () => unpack(host, id, runs, signal)),
    files: (id) => movable(host, id),
    read: (id, part) => readPart(host, id, part),
    write: (id, at, bytes, signal) =>
      host.locks.run(id, signal, () => writePart(host, id, at, bytes)),
    arrive: (spec, runs, signal) =>
      host.locks.runPreemptible(spec.id, signal, (lockSignal) =>
        arrive(host, spec, runs, lockSignal),
      ),
    evacuate: (spec, runs, signal) => evacuate(host, spec, runs, signal),
  }
}
