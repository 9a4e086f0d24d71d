import { type Service, serve } from '#common/bus/serve.ts'
import type { WorkContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import {
  CELL_OPERATIONS,
  type CellAnswer,
  type CellAsk,
  type CellOperation,
} from '#openapi/wire/cell.ts'
import { checked } from '#openapi/wire/checked.ts'
import { cellSubject, processSubject, processSubjects } from '#openapi/wire.ts'
import type { Cell } from './cell.ts'
import { feedRead, snapshotEnded, snapshotRead } from './handlers/feed.ts'
import { guestPasswordService } from './handlers/guest-password.ts'
import {
  hostFilterPorts,
  hostForget,
  hostLabel,
  hostSetAggregates,
  hostSetProvider,
  hostSetService,
  hostUnmanagedGuests,
  hostUptime,
} from './handlers/host.ts'
import { imageCached, imagePin, imagePreload, imageUnpin } from './handlers/image-cache.ts'
import { instanceAct } from './handlers/instance-act.ts'
import { instanceBuild } from './handlers/instance-build.ts'
import { instanceChangeNic } from './handlers/instance-change-nic.ts'
import { instanceChangeVolume } from './handlers/instance-change-volume.ts'
import { instanceDelete } from './handlers/instance-delete.ts'
import {
  instanceAudit,
  instanceConsoleLog,
  instanceDiagnostics,
  instanceMoveProgress,
} from './handlers/instance-lookups.ts'
import { instanceSwapVolume } from './handlers/instance-swap-volume.ts'
import { networkApply, networkList } from './handlers/network.ts'
import { placementExplain } from './handlers/placement-explain.ts'
import { siteAnnounce } from './handlers/site-announce.ts'
import { snapshotHosts } from './handlers/snapshot-hosts.ts'
import { sagaContinue, sagaListStuck } from './handlers/stuck-sagas.ts'
import {
  snapshotVolumes,
  volumeBoxKey,
  volumeCreate,
  volumeDelete,
  volumeExtend,
  volumeReimage,
  volumeRevert,
  volumeUpload,
} from './handlers/volume.ts'
import { volumeChangeEncryption, volumeMigrate } from './handlers/volume-migrate.ts'
import {
  listVolumeSnapshots,
  volumeSnapshotCreate,
  volumeSnapshotDelete,
} from './handlers/volume-snapshot.ts'

type Handlers = {
  readonly [O in CellOperation]: (
    cell: Cell,
    ask: CellAsk<O>,
    work: WorkContext,
  ) => Promise<CellAnswer<O>>
}

const HANDLERS: Handlers = {
  'instance.audit': instanceAudit,
  'instance.build': instanceBuild,
  'instance.delete': instanceDelete,
  'instance.change-nic': instanceChangeNic,
  'instance.act': instanceAct,
  'instance.console-log': instanceConsoleLog,
  'instance.diagnostics': instanceDiagnostics,
  'instance.move-progress': instanceMoveProgress,
  'host.filter-ports': hostFilterPorts,
  'host.forget': hostForget,
  'host.label': hostLabel,
  'host.set-service': hostSetService,
  'host.set-aggregates': hostSetAggregates,
  'host.set-provider': hostSetProvider,
  'host.unmanaged-guests': hostUnmanagedGuests,
  'host.strangers': hostUnmanagedGuests,
  'host.uptime': hostUptime,
  'image.cached': imageCached,
  'image.pin': imagePin,
  'image.preload': imagePreload,
  'image.unpin': imageUnpin,
  'placement.explain': placementExplain,
  'feed.read': feedRead,
  'snapshot.read': snapshotRead,
  'snapshot.hosts': snapshotHosts,
  'snapshot.ended': snapshotEnded,
  'saga.list-stuck': sagaListStuck,
  'saga.continue': sagaContinue,
  'site.announce': siteAnnounce,
  'network.list': networkList,
  'network.apply': networkApply,
  'instance.change-volume': instanceChangeVolume,
  'instance.swap-volume': instanceSwapVolume,
  'volume.create': volumeCreate,
  'volume.delete': volumeDelete,
  'volume.extend': volumeExtend,
  'volume.upload': volumeUpload,
  'volume.box-key': volumeBoxKey,
  'volume.revert': volumeRevert,
  'volume.reimage': volumeReimage,
  'volume.migrate': volumeMigrate,
  'volume.change-encryption': volumeChangeEncryption,
  'snapshot.volumes': snapshotVolumes,
  'volume-snapshot.create': volumeSnapshotCreate,
  'volume-snapshot.delete': volumeSnapshotDelete,
  'snapshot.volume-snapshots': listVolumeSnapshots,
}

/** The processes of a cell share its work. */
const QUEUE = 'conductor'

/**
 * Answers gateways on every operation of the contract, alone and as one of the cell's processes, and hosts that pass on
 * what guests publish, until disposed.
 */
export function serveCell(cell: Cell): readonly AsyncDisposable[] {
  const { nats, log } = cell.conductor
  const admit = (generation: number) => cell.sites.admit(generation)
  const shared = (Object.keys(HANDLERS) as CellOperation[]).map((operation): Service => {
    const subject = cellSubject(cell.conductor.cellId, operation)
    return { subject, queue: QUEUE, admit, ...operationService(cell, operation) }
  })
  return [...shared, ownService(cell), guestPasswordService(cell, QUEUE)].map((service) =>
    serve(nats, service, log),
  )
}

type Parsed = (work: WorkContext) => Promise<unknown>

/**
 * The requests to this process alone. Between accounts NATS does not report that no process serves a subject, so an
 * unknown operation is refused here, instead of timing out.
 */
function ownService(cell: Cell): Service {
  const { processId, conductor } = cell
  const { cellId } = conductor
  const operations = new Map(
    (Object.keys(HANDLERS) as CellOperation[]).map((operation) => [
      processSubject(cellId, processId, operation),
      operationService(cell, operation),
    ]),
  )
  return {
    subject: processSubjects(cellId, processId),
    admit: (generation) => cell.sites.admit(generation),
    parse: (payload, asked): Parsed => {
      const operation = operations.get(asked)
      if (operation === undefined)
        throw new Failure('unsupported', 'The cell runs a release that does not know this.')
      const ask = operation.parse(payload, asked) as never
      return (work) => operation.handle(ask, work)
    },
    handle: (parsed: Parsed, work) => parsed(work),
  }
}

function operationService<O extends CellOperation>(
  cell: Cell,
  operation: O,
): Pick<Service, 'parse' | 'handle'> {
  const handler: Handlers[O] = HANDLERS[operation]
  return {
    parse: (payload) => checked(CELL_OPERATIONS[operation].ask, payload, operation),
    handle: (ask: CellAsk<O>, work) => {
      cell.conductor.gateways.recordRequest()
      return handler(cell, ask, work)
    },
  }
}
