import { deleteService } from './delete-service.ts'
import { disableService } from './disable-service.ts'
import { disableServiceWithReason } from './disable-service-with-reason.ts'
import { enableService } from './enable-service.ts'
import { forceServiceDown } from './force-service-down.ts'
import { listServices } from './list-services.ts'
import { updateService } from './update-service.ts'

export const serviceHandlers = {
  deleteService,
  disableService,
  disableServiceWithReason,
  enableService,
  forceServiceDown,
  listServices,
  updateService,
}
