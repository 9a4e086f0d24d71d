import type { operations } from '#openapi/compute.gen.ts'
import {
  listServices as list,
  listCellServices,
  deleteService as remove,
  serviceById,
  serviceChange,
  serviceOnHost,
  setService,
} from '../../app/hosts/services.ts'
import type { Handler } from '../../http/operation.ts'
import { cellServiceView, serviceView } from '../../views/service.ts'
import { hostIdsOf } from './hypervisors.ts'

const deleteService: Handler<operations['deleteService']> = async (call) => {
  const { app, context, params } = call
  await remove(app.compute, context, { id: params.service_id, ids: hostIdsOf(context) })
  return {}
}

const disableService: Handler<operations['disableService']> = async (call) => {
  const { app, context } = call
  const { host, binary } = call.body
  const found = await serviceOnHost(app, host, binary)
  await setService(app.compute, context, found, { isDisabled: true, disabledReason: null })
  return { body: { service: { host, binary, status: 'disabled' } } }
}

const disableServiceWithReason: Handler<operations['disableServiceWithReason']> = async (call) => {
  const { app, context } = call
  const { host, binary, disabled_reason } = call.body
  const found = await serviceOnHost(app, host, binary)
  await setService(app.compute, context, found, {
    isDisabled: true,
    disabledReason: disabled_reason,
  })
  return { body: { service: { host, binary, status: 'disabled', disabled_reason } } }
}

const enableService: Handler<operations['enableService']> = async (call) => {
  const { app, context } = call
  const { host, binary } = call.body
  const found = await serviceOnHost(app, host, binary)
  await setService(app.compute, context, found, { isDisabled: false, disabledReason: null })
  return { body: { service: { host, binary, status: 'enabled' } } }
}

const forceServiceDown: Handler<operations['forceServiceDown']> = async (call) => {
  const { app, context } = call
  const { host, binary, forced_down } = call.body
  const found = await serviceOnHost(app, host, binary)
  await setService(app.compute, context, found, { isForcedDown: forced_down })
  return { body: { service: { host, binary, forced_down } } }
}

const listServices: Handler<operations['listServices']> = async (call) => {
  const { app, context, query } = call
  const hosts = await list(app.db, query)
  const { cells } = app.compute
  const ofCells = listCellServices(cells.cells(), query)
  const services = [
    ...ofCells.map((service) => cellServiceView(service, context)),
    ...hosts.map((host) => serviceView(host, context, cells)),
  ]
  return { body: { services } }
}

const updateService: Handler<operations['updateService']> = async (call) => {
  const { app, context, params, body } = call
  const change = serviceChange(body)
  const found = await serviceById(app.compute, params.service_id)
  const host = await setService(app.compute, context, found, change)
  return { body: { service: serviceView(host, context, app.compute.cells) } }
}

export const serviceHandlers = {
  deleteService,
  disableService,
  disableServiceWithReason,
  enableService,
  forceServiceDown,
  listServices,
  updateService,
}
