import type { operations } from '#openapi/compute.gen.ts'
import { listServices as list, listCellServices } from '../../../app/hosts/list-services.ts'
import type { Handler } from '../../../http/operation.ts'
import { cellServiceView, serviceView } from '../../../views/service.ts'

export const listServices: Handler<operations['listServices']> = async (call) => {
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
