import { addFlavorAccess } from './add-flavor-access.ts'
import { createFlavor } from './create-flavor.ts'
import { createFlavorExtraSpecs } from './create-flavor-extra-specs.ts'
import { deleteFlavor } from './delete-flavor.ts'
import { deleteFlavorExtraSpec } from './delete-flavor-extra-spec.ts'
import { listFlavorAccess } from './list-flavor-access.ts'
import { listFlavorExtraSpecs } from './list-flavor-extra-specs.ts'
import { listFlavors } from './list-flavors.ts'
import { listFlavorsDetail } from './list-flavors-detail.ts'
import { removeFlavorAccess } from './remove-flavor-access.ts'
import { showFlavor } from './show-flavor.ts'
import { showFlavorExtraSpec } from './show-flavor-extra-spec.ts'
import { updateFlavor } from './update-flavor.ts'
import { updateFlavorExtraSpec } from './update-flavor-extra-spec.ts'

export const flavorHandlers = {
  addFlavorAccess,
  createFlavor,
  createFlavorExtraSpecs,
  deleteFlavor,
  deleteFlavorExtraSpec,
  listFlavorAccess,
  listFlavorExtraSpecs,
  listFlavors,
  listFlavorsDetail,
  removeFlavorAccess,
  showFlavor,
  showFlavorExtraSpec,
  updateFlavor,
  updateFlavorExtraSpec,
}
