export { leases, sagas } from '#common/saga/schema.ts'
