import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/compute.gen.ts'
import type { PlainAct } from '#openapi/wire/act.ts'
import { enforce } from '../../app/policy.ts'
import type { RequestContext } from '../../app/request-context.ts'
import { actOnServer } from '../../app/servers/acts/act-on-server.ts'
import { deleteServer } from '../../app/servers/acts/delete-server.ts'
import { lockServer as lock, unlockServer as unlock } from '../../app/servers/acts/lock-server.ts'
import {
  evacuateServer as evacuate,
  liveMigrateServer as liveMigrate,
  migrateServer as migrate,
} from '../../app/servers/acts/move-server.ts'
import { newPassword } from '../../app/servers/acts/new-password.ts'
import { powerServer } from '../../app/servers/acts/power-server.ts'
import { rebuildServer as rebuild } from '../../app/servers/acts/rebuild-server.ts'
import { refuseAction } from '../../app/servers/acts/refuse-action.ts'
import { rescueServer as rescue } from '../../app/servers/acts/rescue-server.ts'
import { resetServerState as reset } from '../../app/servers/acts/reset-server-state.ts'
import { resizeServer as resize } from '../../app/servers/acts/resize-server.ts'
import {
  backUpServer,
  saveServer,
  shelveServer as shelve,
} from '../../app/servers/acts/save-server.ts'
import { unshelveServer as unshelve } from '../../app/servers/acts/unshelve-server.ts'
import { consoleLog } from '../../app/servers/guest-info.ts'
import {
  addServerGroup,
  removeServerGroup,
} from '../../app/servers/interfaces/change-server-groups.ts'
import { addFixedIp, removeFixedIp } from '../../app/servers/interfaces/fixed-ips.ts'
import { showServer } from '../../app/servers/list/show-server.ts'
import type { Links } from '../../http/links.ts'
import type { Handler } from '../../http/operation.ts'
import { isSince } from '../../views/since.ts'
import { gone } from './gone.ts'
import { oneServer } from './servers.ts'

/** The image that a server is saved in: its id from 2.45 on, before that where it is. */
function savedImage(
  { context, links }: { readonly context: RequestContext; readonly links: Links },
  id: string,
): { body: { image_id: string } } | { headers: { Location: string } } {
  if (isSince(context, '2.45')) return { body: { image_id: id } }
  return { headers: { Location: links.to(`/image/v2/images/${id}`) } }
}

/** What Nova reads as true in a body (oslo.utils `bool_from_string`). */
function isTrueFlag(flag: unknown): boolean {
  return flag === true || /^(true|t|1|on|yes|y)$/i.test(String(flag))
}

const plain =
  (name: PlainAct): Handler =>
  async (call) => {
    await actOnServer(call.app.compute, call.context, call.params['server_id']!, { name })
    return {}
  }

const power =
  (action: 'start' | 'stop'): Handler =>
  async (call) => {
    await powerServer(call.app.compute, call.context, call.params['server_id']!, action)
    return {}
  }

/** Actions of which the name says all. */
const plainActionHandlers = {
  startServer: power('start'),
  stopServer: power('stop'),
  pauseServer: plain('pause'),
  unpauseServer: plain('unpause'),
  suspendServer: plain('suspend'),
  resumeServer: plain('resume'),
  unrescueServer: plain('unrescue'),
  triggerServerCrashDump: plain('crash-dump'),
  confirmServerResize: plain('confirm-resize'),
  offloadShelvedServer: plain('shelve-offload'),
}

const rebootServer: Handler<operations['rebootServer']> = async (call) => {
  const { type } = call.body.reboot
  const name = type.toLowerCase() === 'hard' ? 'reboot-hard' : 'reboot-soft'
  await actOnServer(call.app.compute, call.context, call.params.server_id, { name })
  return {}
}

const rescueServer: Handler<operations['rescueServer']> = async (call) => {
  const { adminPass: password, rescue_image_ref: imageRef } = call.body.rescue ?? {}
  const { app, context, params } = call
  const knowsRootVolumes = isSince(context, '2.87')
  const request = { password, imageRef, knowsRootVolumes }
  const adminPass = await rescue(app, context, params.server_id, request)
  return { body: { adminPass } }
}

const createServerImage: Handler<operations['createServerImage']> = async (call) => {
  const { app, context, params, body } = call
  const { name, metadata = {} } = body.createImage
  const id = await saveServer(app, context, params.server_id, { name, metadata })
  return savedImage(call, id)
}

const createServerBackup: Handler<operations['createServerBackup']> = async (call) => {
  const { app, context, params, body } = call
  const { name, backup_type: type, metadata = {} } = body.createBackup
  const rotation = Number(body.createBackup.rotation)
  const request = { name, metadata, type, rotation }
  const id = await backUpServer(app.compute, context, params.server_id, request)
  // Nova names the image in a body even where none is kept, but leads to no such one.
  return rotation === 0 && !isSince(context, '2.45') ? {} : savedImage(call, id)
}

const rebuildServer: Handler<operations['rebuildServer']> = async (call) => {
  const { app, context, params, body, links } = call
  const asked = body.rebuild
  const password = asked.adminPass ?? newPassword()
  const { userData: user_data, shown } = await rebuild(app, context, params.server_id, {
    imageRef: asked.imageRef,
    password,
    keepsEphemeral: asked.preserve_ephemeral ?? false,
    reimages: isSince(context, '2.93'),
    name: asked.name,
    hostname: asked.hostname,
    description: asked.description,
    metadata: asked.metadata,
    diskConfig: asked['OS-DCF:diskConfig'],
    accessIPv4: asked.accessIPv4,
    accessIPv6: asked.accessIPv6,
    keyName: asked.key_name,
    userData: asked.user_data,
    files: asked.personality ?? [],
    trustedCertificates: asked.trusted_image_certificates,
  })
  const server = await showServer(app.db, context, params.server_id)
  const view = await oneServer(call, { ...server, ...shown })
  return {
    body: { server: { ...view, adminPass: password, user_data } },
    headers: { Location: links.to(`/compute/v2.1/servers/${server.id}`) },
  }
}

const resizeServer: Handler<operations['resizeServer']> = async (call) => {
  const { app, context, params, body } = call
  const asked = body.resize
  await resize(app.compute, context, params.server_id, {
    flavorRef: String(asked.flavorRef),
    // Unlike a rebuild, a resize that does not say leaves the disk alone from then on (nova/compute/api.py `resize`).
    diskConfig: asked['OS-DCF:diskConfig'] ?? 'MANUAL',
  })
  return {}
}

const revertServerResize: Handler = async (call) => {
  const act = { name: 'revert-resize', plan: { kind: 'revert' } } as const
  await actOnServer(call.app.compute, call.context, call.params['server_id']!, act)
  return {}
}

const shelveServer: Handler = async (call) => {
  await shelve(call.app.compute, call.context, call.params['server_id']!)
  return {}
}

interface Place {
  readonly availability_zone?: string | null
  readonly host?: string
}

const unshelveServer: Handler<operations['unshelveServer']> = async (call) => {
  const { app, context, params, body } = call
  // Until 2.76 the value means nothing.
  const hasMeaning = isSince(context, '2.77') && isPlace(body.unshelve)
  const place: Place = hasMeaning ? (body.unshelve as Place) : {}
  const { availability_zone: zone, host = null } = place
  await unshelve(app.compute, context, params.server_id, { zone, host })
  return {}
}

function isPlace(value: unknown): value is Place {
  return typeof value === 'object' && value !== null
}

const changeServerPassword: Handler<operations['changeServerPassword']> = async (call) => {
  const { app, context, params, body } = call
  const password = body.changePassword.adminPass
  await actOnServer(app.compute, context, params.server_id, { name: 'change-password', password })
  return {}
}

const lockServer: Handler<operations['lockServer']> = async (call) => {
  const { app, context, params, body } = call
  // Before 2.73 the value is not looked at.
  const asked = isSince(context, '2.73') ? (body.lock as { locked_reason?: string } | null) : null
  await lock(app.compute, context, params.server_id, asked?.locked_reason ?? null)
  return {}
}

const unlockServer: Handler = async (call) => {
  await unlock(call.app.compute, call.context, call.params['server_id']!)
  return {}
}

const resetServerState: Handler<operations['resetServerState']> = async (call) => {
  const { app, context, params, body } = call
  const { state } = body['os-resetState']
  await reset(app.compute, context, params.server_id, state)
  return {}
}

/** No driver puts network settings into a running guest, nor does any of Nova's that is left: what it needs is checked. */
const injectNetworkInfo: Handler = async (call) => {
  const server = await showServer(call.app.db, call.context, call.params['server_id']!)
  refuseAction(server, call.context, 'inject-network-info')
  return {}
}

const forceDeleteServer: Handler = async (call) => {
  await deleteServer(call.app.compute, call.context, call.params['server_id']!)
  return {}
}

const restoreServer: Handler = async (call) => {
  const { app, context, params } = call
  const act = { name: 'restore', plan: { kind: 'restore' } } as const
  await actOnServer(app.compute, context, params['server_id']!, act)
  return {}
}

const migrateServer: Handler<operations['migrateServer']> = async (call) => {
  const { app, context, params, body } = call
  // Before 2.56 the value is not looked at.
  const asked = isSince(context, '2.56') ? (body.migrate as { host?: string | null } | null) : null
  const host = asked?.host ?? null
  if (host !== null) enforce(context, 'os_compute_api:os-migrate-server:migrate:host')
  await migrate(app.compute, context, params.server_id, host)
  return {}
}

const liveMigrateServer: Handler<operations['liveMigrateServer']> = async (call) => {
  const { app, context, params, body } = call
  const { host, force } = body['os-migrateLive'] as { host: string | null; force?: unknown }
  if (host !== null) enforce(context, 'os_compute_api:os-migrate-server:migrate_live:host')
  if (isTrueFlag(force) && host === null)
    throw new Failure('invalid', "Can't force to a non-provided destination")
  // Since 2.34 the answer comes before what the scheduler says.
  const isAwaited = !isSince(context, '2.34')
  await liveMigrate(app.compute, context, params.server_id, { host, isAwaited })
  return {}
}

const evacuateServer: Handler<operations['evacuateServer']> = async (call) => {
  const { app, context, params, body } = call
  const asked = body.evacuate
  const host = asked.host ?? null
  if (isTrueFlag(asked.force) && host === null)
    throw new Failure('invalid', "Can't force to a non-provided destination")
  if (isTrueFlag(asked.onSharedStorage) && asked.adminPass !== undefined)
    throw new Failure('invalid', "admin password can't be changed on existing disk")
  const isShared = isTrueFlag(asked.onSharedStorage)
  const password = isShared ? null : (asked.adminPass ?? newPassword())
  // Since 2.95 an evacuated server is left stopped.
  const staysOff = isSince(context, '2.95')
  await evacuate(app.compute, context, params.server_id, { host, password, staysOff })
  // Since 2.14 nothing is answered.
  return isSince(context, '2.14') ? {} : { body: { adminPass: password } }
}

const showServerConsoleOutput: Handler<operations['showServerConsoleOutput']> = async (call) => {
  const { length } = call.body['os-getConsoleOutput']
  // Nova's word for "all of them" is -1; some clients say null.
  const lines = length === undefined || length === null || length === -1 ? undefined : length
  const output = await consoleLog(call.app.compute, call.context, call.params.server_id, lines)
  return { body: { output } }
}

const addServerSecurityGroup: Handler<operations['addServerSecurityGroup']> = async (call) => {
  const { app, context, params, body } = call
  await addServerGroup(app.networks, context, params.server_id, body.addSecurityGroup.name)
  return {}
}

const removeServerSecurityGroup: Handler<operations['removeServerSecurityGroup']> = async (
  call,
) => {
  const { app, context, params, body } = call
  await removeServerGroup(app.networks, context, params.server_id, body.removeSecurityGroup.name)
  return {}
}

const addServerFixedIp: Handler<operations['addServerFixedIp']> = async (call) => {
  const { app, context, params, body } = call
  await addFixedIp(app.networks, context, params.server_id, String(body.addFixedIp.networkId))
  return {}
}

const removeServerFixedIp: Handler<operations['removeServerFixedIp']> = async (call) => {
  const { app, context, params, body } = call
  await removeFixedIp(app.networks, context, params.server_id, body.removeFixedIp.address)
  return {}
}

/** The actions of POST /servers/{server_id}/action. */
export const serverActionHandlers = {
  ...plainActionHandlers,
  rebootServer,
  rescueServer,
  createServerImage,
  createServerBackup,
  rebuildServer,
  resizeServer,
  revertServerResize,
  shelveServer,
  unshelveServer,
  changeServerPassword,
  lockServer,
  unlockServer,
  resetServerState,
  injectNetworkInfo,
  forceDeleteServer,
  restoreServer,
  migrateServer,
  liveMigrateServer,
  evacuateServer,
  resetServerNetwork: gone,
  showServerConsoleOutput,
  addServerSecurityGroup,
  removeServerSecurityGroup,
  addServerFixedIp,
  removeServerFixedIp,
}
