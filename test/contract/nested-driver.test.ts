import { driverDisksContract } from './driver-disks.contract.ts'
import { driversContract } from './drivers.contract.ts'
import { REFUSED_IMAGES, startNestedHarness } from './nested-harness.ts'

driversContract('nested', startNestedHarness, REFUSED_IMAGES)
driverDisksContract('nested', startNestedHarness)
