/**
 * The extensions of Cinder's API that are served, one a line: alias, name, date, description. Old clients look for the
 * aliases.
 */
const EXTENSIONS = `
capabilities Capabilities 2015-08-31 What stores of volumes can do.
encryption VolumeTypeEncryption 2013-07-01 How volumes of a type are encrypted.
os-availability-zone AvailabilityZones 2013-06-27 The zones in which volumes can be.
os-extended-services ExtendedServices 2014-01-10 Services say why they are disabled.
os-quota-class-sets QuotaClasses 2012-03-12 Limits of classes of projects.
os-quota-sets Quotas 2011-08-08 Limits of projects.
os-services Services 2012-10-28 The processes behind the API.
os-types-extra-specs TypesExtraSpecs 2011-08-24 Extra specs of types.
os-types-manage TypesManage 2011-08-24 Types are created, changed and deleted.
os-used-limits UsedLimits 2013-10-03 Limits show what is used of them.
os-volume-transfer VolumeTransfer 2013-05-29 Volumes change projects.
os-volume-type-access VolumeTypeAccess 2014-06-26 Types for some projects.
scheduler-stats Scheduler_stats 2014-09-07 The stores of volumes.
`

export const extensionViews = EXTENSIONS.trim().split('\n').map(extensionView)

function extensionView(line: string) {
  const [alias = '', name = '', day = '', ...words] = line.split(' ')
  return { alias, name, description: words.join(' '), updated: `${day}T00:00:00+00:00`, links: [] }
}
