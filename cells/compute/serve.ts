import type { NatsConnection } from '@nats-io/transport-node'
import type { Static } from 'typebox'
import { type Service, serve } from '#common/bus/serve.ts'
import type { WorkContext } from '#common/context.ts'
import { withinWork } from '#common/current-work.ts'
import { checked } from '#openapi/wire/checked.ts'
import { HOST_OPERATIONS } from '#openapi/wire/host.ts'
import { type HostOperation, hostSubject } from '#openapi/wire.ts'
import type { Compute } from './compute.ts'
import { consoleLog } from './consoles/console-log.ts'
import { act } from './guests/act.ts'
import { announceAddresses } from './guests/announce-addresses.ts'
import { destroy } from './guests/destroy.ts'
import { diagnostics } from './guests/diagnostics.ts'
import { label } from './guests/label.ts'
import {
  endMove,
  listMoveFiles,
  moveProgress,
  readMoveFile,
  writeMoveFile,
} from './guests/move-files.ts'
import { changeNic, filterPorts } from './guests/nics.ts'
import { route } from './guests/route.ts'
import { spawn } from './guests/spawn.ts'
import { unmanagedGuests } from './guests/unmanaged-guests.ts'
import { hostReport, uptime } from './report.ts'
import { attachVolume, detachVolume, swapVolume } from './volumes/attachments.ts'
import { listVolumes } from './volumes/stores.ts'
import { dropVolumeCopy, readVolumeCopy, writeVolumeCopy } from './volumes/volume-copies.ts'
import {
  createVolume,
  destroyVolume,
  destroyVolumeSnapshot,
  exportVolume,
  extendVolume,
  packVolume,
  reimageVolume,
  revertVolume,
  snapshotVolume,
} from './volumes/volume-work.ts'

type Handlers = {
  readonly [O in HostOperation]: (
    ask: Static<(typeof HOST_OPERATIONS)[O]['ask']>,
    work: WorkContext,
  ) => Promise<Static<(typeof HOST_OPERATIONS)[O]['answer']>>
}

/** Answers the cell on every host operation until disposed. */
export function serveHost(compute: Compute, nats: NatsConnection): readonly AsyncDisposable[] {
  const handlers: Handlers = {
    spawn: (ask) => spawn(compute, ask),
    destroy: ({ operation }) => destroy(compute, operation),
    'filter-ports': (ask) => filterPorts(compute, ask),
    label: (ask) => label(compute, ask),
    route: (ask) => route(compute, ask),
    'announce-addresses': (ask) => announceAddresses(compute, ask),
    'change-nic': (ask) => changeNic(compute, ask),
    act: (ask) => act(compute, ask),
    'volume-create': (ask) => createVolume(compute, ask),
    'volume-destroy': (ask) => destroyVolume(compute, ask),
    'volume-extend': (ask) => extendVolume(compute, ask),
    'volume-export': (ask) => exportVolume(compute, ask),
    'volume-revert': (ask) => revertVolume(compute, ask),
    'volume-reimage': (ask) => reimageVolume(compute, ask),
    'volume-snapshot': (ask) => snapshotVolume(compute, ask),
    'volume-destroy-snapshot': (ask) => destroyVolumeSnapshot(compute, ask),
    'volume-pack': (ask) => packVolume(compute, ask),
    'volume-read': (ask) => readVolumeCopy(compute, ask),
    'volume-write': (ask) => writeVolumeCopy(compute, ask),
    'volume-drop': (ask) => dropVolumeCopy(compute, ask),
    'volume-list': (ask) => listVolumes(compute, ask),
    'volume-attach': (ask) => attachVolume(compute, ask),
    'volume-detach': (ask) => detachVolume(compute, ask),
    'volume-swap': (ask) => swapVolume(compute, ask),
    'move-files': (ask) => listMoveFiles(compute, ask),
    'move-read': (ask) => readMoveFile(compute, ask),
    'move-write': (ask) => writeMoveFile(compute, ask),
    'move-end': (ask) => endMove(compute, ask),
    'move-steer': (ask) => endMove(compute, ask),
    'move-progress': (ask) => moveProgress(compute, ask),
    'console-log': (ask) => consoleLog(compute, ask),
    diagnostics: (ask) => diagnostics(compute, ask),
    'unmanaged-guests': () => unmanagedGuests(compute),
    strangers: () => unmanagedGuests(compute),
    uptime: () => uptime(compute),
    report: ({ after }) => hostReport(compute, after),
    contact: async (asked) => {
      await compute.fence.contact(asked)
      return {}
    },
  }
  return (Object.keys(handlers) as HostOperation[]).map((operation) => {
    const service: Service = {
      subject: hostSubject(compute.host.cellId, compute.host.id, operation),
      parse: (payload) => checked(HOST_OPERATIONS[operation].ask, payload, operation),
      handle: (ask, work) => withinWork(work, () => handlers[operation](ask, work)),
    }
    return serve(nats, service, compute.log)
  })
}
