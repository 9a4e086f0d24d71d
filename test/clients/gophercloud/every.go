package main

import (
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/attachinterfaces"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/availabilityzones"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/instanceactions"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/limits"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/lockunlock"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/pauseunpause"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/quotasets"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/rescueunrescue"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/secgroups"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/shelveunshelve"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/suspendresume"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/tags"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/servers"
)

func (cloud *Cloud) everyAction() {
	c, id := cloud.compute, cloud.server.ID
	small := servers.ResizeOpts{FlavorRef: cloud.flavors["m1.small"]}
	cloud.act("reboot", "ACTIVE", servers.Reboot(c, id, servers.RebootOpts{Type: servers.SoftReboot}).Err)
	cloud.act("reboot", "ACTIVE", servers.Reboot(c, id, servers.RebootOpts{Type: servers.HardReboot}).Err)
	cloud.act("pause", "PAUSED", pauseunpause.Pause(c, id).Err)
	cloud.act("unpause", "ACTIVE", pauseunpause.Unpause(c, id).Err)
	cloud.act("suspend", "SUSPENDED", suspendresume.Suspend(c, id).Err)
	cloud.act("resume", "ACTIVE", suspendresume.Resume(c, id).Err)
	cloud.act("resize", "VERIFY_RESIZE", servers.Resize(c, id, small).Err)
	cloud.act("revertResize", "ACTIVE", servers.RevertResize(c, id).Err)
	cloud.act("resize", "VERIFY_RESIZE", servers.Resize(c, id, small).Err)
	cloud.act("confirmResize", "ACTIVE", servers.ConfirmResize(c, id).Err)
	cloud.act("rebuild", "ACTIVE", servers.Rebuild(c, id, servers.RebuildOpts{ImageRef: cloud.imageID, Name: "go-2"}).Err)
	cloud.act("rescue", "RESCUE", rescueunrescue.Rescue(c, id, rescueunrescue.RescueOpts{}).Err)
	cloud.act("unrescue", "ACTIVE", rescueunrescue.Unrescue(c, id).Err)
	cloud.act("shelve", "SHELVED_OFFLOADED", shelveunshelve.Shelve(c, id).Err)
	cloud.act("unshelve", "ACTIVE", shelveunshelve.Unshelve(c, id, shelveunshelve.UnshelveOpts{}).Err)
	cloud.act("lock", "ACTIVE", lockunlock.Lock(c, id).Err)
	cloud.act("unlock", "ACTIVE", lockunlock.Unlock(c, id).Err)
	cloud.act("changePassword", "ACTIVE", servers.ChangeAdminPassword(c, id, "sesame").Err)
}

func (cloud *Cloud) everythingElse() {
	c, id := cloud.compute, cloud.server.ID
	cloud.changeServer()
	port, err := attachinterfaces.Create(c, id, attachinterfaces.CreateOpts{NetworkID: cloud.networkID}).Extract()
	must(err)
	page, err := attachinterfaces.List(c, id).AllPages()
	must(err)
	ports, err := attachinterfaces.ExtractInterfaces(page)
	must(err)
	cloud.seen["ports"] = len(ports)
	must(attachinterfaces.Delete(c, id, port.PortID).ExtractErr())
	must(secgroups.RemoveServer(c, id, "default").ExtractErr())
	must(secgroups.AddServer(c, id, "default").ExtractErr())
	page, err = secgroups.ListByServer(c, id).AllPages()
	must(err)
	groups, err := secgroups.ExtractSecurityGroups(page)
	must(err)
	cloud.seen["group"] = groups[0].Name
	cloud.seen["console"], err = servers.ShowConsoleOutput(c, id, servers.ShowConsoleOutputOpts{Length: 1}).Extract()
	must(err)
	page, err = instanceactions.List(c, id, instanceactions.ListOpts{}).AllPages()
	must(err)
	actions, err := instanceactions.ExtractInstanceActions(page)
	must(err)
	cloud.seen["first"] = actions[len(actions)-1]
	page, err = availabilityzones.List(c).AllPages()
	must(err)
	cloud.seen["zones"], err = availabilityzones.ExtractAvailabilityZones(page)
	must(err)
	cloud.seen["limits"], err = limits.Get(c, nil).Extract()
	must(err)
	cloud.seen["quota"], err = quotasets.Get(c, cloud.show().TenantID).Extract()
	must(err)
	c.Microversion = "2.26"
	cloud.seen["tags"], err = tags.ReplaceAll(c, id, tags.ReplaceAllOpts{Tags: []string{"blue"}}).Extract()
	must(err)
	must(tags.Add(c, id, "red").ExtractErr())
	must(tags.Delete(c, id, "red").ExtractErr())
	c.Microversion = ""
}

func (cloud *Cloud) changeServer() {
	c, id := cloud.compute, cloud.server.ID
	_, err := servers.Update(c, id, servers.UpdateOpts{Name: "go-3"}).Extract()
	must(err)
	_, err = servers.UpdateMetadata(c, id, servers.MetadataOpts{"c": "d"}).Extract()
	must(err)
	must(servers.DeleteMetadatum(c, id, "a").ExtractErr())
	cloud.seen["changed"] = cloud.show()
}
